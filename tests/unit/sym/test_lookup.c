/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lookup.c - looks up places in this program's own file, intact and malformed: ripd/sym/child/lookup.c.
 *
 * libdw may crash on a malformed file, but must not hang: each file is read in a process of its own.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/sandbox.h"
#include "support/test.h"
#include "sym/child/lookup.h"
#include "unit/sym_samples.h"

#define BROKEN_SECONDS 20u

static unsigned char *image;
static size_t image_bytes;

/* The function that is looked up. */
__attribute__((noinline)) static int sought(int number)
{
    __asm__ volatile("");
    return number + 1;
}

/*
 * Two nested units, as a linker makes them that orders functions by section: "outer" has 64 bytes, "inner" 16 of them.
 * Each has one function with the name of the unit. A mangled C++ symbol follows.
 */
#define UNIT(name, start, bytes)                                                                                       \
    "1: .long 3f - 2f\n"                                                                                               \
    "2: .short 4\n .long lookup_abbreviations\n .byte 8\n"                                                             \
    ".uleb128 1\n .quad " start "\n .quad " bytes "\n"                                                                 \
    ".uleb128 2\n .asciz \"" name "\"\n .quad " start "\n .quad " bytes "\n"                                           \
    ".byte 0\n 3:\n"
__asm__(".pushsection .text.lookup,\"ax\",@progbits\n"
        ".balign 64\n"
        ".globl lookup_begin\n .hidden lookup_begin\n lookup_begin:\n"
        ".fill 64, 1, 0x90\n"
        ".type _ZN5store4scanEi,@function\n _ZN5store4scanEi: .size _ZN5store4scanEi, 16\n"
        ".fill 16, 1, 0x90\n"
        ".popsection\n"
        ".pushsection .debug_abbrev,\"\",@progbits\n"
        "lookup_abbreviations:\n"
        ".uleb128 1, 0x11\n .byte 1\n .uleb128 0x11, 1, 0x12, 7, 0, 0\n"       /* unit: low_pc, high_pc */
        ".uleb128 2, 0x2e\n .byte 0\n .uleb128 3, 8, 0x11, 1, 0x12, 7, 0, 0\n" /* function: name, and the same */
        ".byte 0\n"
        ".popsection\n"
        ".pushsection .debug_info,\"\",@progbits\n" UNIT("outer", "lookup_begin", "64")
            UNIT("inner", "lookup_begin + 16", "16") ".popsection\n");
extern const char lookup_begin[];

static struct lookup *lookup;

static int open_own_file(void **state)
{
    (void)state;
    return lookup_open(&lookup, open_own_program(), "/proc/self/exe", NULL, 0);
}

static int close_file(void **state)
{
    (void)state;
    lookup_close(lookup);
    lookup = NULL;
    return 0;
}

TEST(own_file, open_own_file, close_file)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];

    assert_int_equal(sought(1), 2);
    assert_int_equal(lookup_find(lookup, address_in_file((const void *)(uintptr_t)sought) + 1, frames), 1);
    assert_string_equal(frames[0].function, "sought");
    if (frames[0].file != NULL) {
        assert_non_null(strstr(frames[0].file, "test_lookup.c"));
        assert_true(frames[0].line != 0);
    }
    assert_int_equal(lookup_find(lookup, 0, frames), 0);
    assert_int_equal(lookup_find(lookup, UINT64_MAX, frames), 0);
    assert_int_equal(lookup_find(lookup, UINT64_C(1) << 63, frames), 0);
    lookup_close(NULL);
}

static void assert_function(size_t offset, const char *name)
{
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];

    assert_int_equal(lookup_find(lookup, address_in_file(lookup_begin) + offset, frames), 1);
    assert_string_equal(frames[0].function, name);
}

/* An answer is valid until the next one, which frees it. */
TEST(nested_units, open_own_file, close_file)
{
    for (size_t i = 0; i < 1000; i++)
        assert_function(i % 80, i % 80 < 16   ? "outer"
                                : i % 80 < 32 ? "inner"
                                : i % 80 < 64 ? "outer"
                                              : "store::scan(int)");
}

TEST(files_that_are_no_programs)
{
    static const char *const paths[] = {"/dev/null", "/etc/passwd", "/proc/self/maps"};
    static const uint8_t id[] = {1, 2, 3};

    for (size_t i = 0; i < COUNT_OF(paths); i++)
        assert_int_equal(lookup_open(&lookup, open(paths[i], O_RDONLY | O_CLOEXEC), paths[i], NULL, 0), -ENOEXEC);
    assert_int_equal(lookup_open(&lookup, open_own_program(), "/x", id, sizeof(id)), -ESTALE);
    assert_null(lookup);
}

/* Malformed files -------------------------------------------------------------------------------------------------- */

static void read_file_at(const char *path)
{
    const struct rlimit memory = {UINT64_C(4) << 30, UINT64_C(4) << 30}, no_core = {0, 0};
    struct symbol_frame frames[SYMBOL_FRAMES_MAX];

    alarm(BROKEN_SECONDS);
    setrlimit(RLIMIT_CORE, &no_core);
    if (!SANDBOX_FOR_SANITIZER)
        setrlimit(RLIMIT_AS, &memory);
    if (lookup_open(&lookup, open(path, O_RDONLY | O_CLOEXEC), path, NULL, 0) == 0)
        for (uint64_t address = 0; address < UINT64_C(1) << 22; address += 0x1357)
            (void)lookup_find(lookup, address, frames);
    _exit(0);
}

/* Reads a file with these bytes in a process of its own. Returns false if the process had to be ended. */
static bool survives(const unsigned char *bytes, size_t count, off_t size, unsigned *crash_count)
{
    char path[] = "/dev/shm/test_lookup-XXXXXX";
    int descriptor = mkstemp(path), status = 0;
    pid_t pid;

    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, bytes, count), count);
    assert_int_equal(ftruncate(descriptor, size), 0);
    close(descriptor);
    pid = fork();
    if (pid == 0)
        read_file_at(path);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    unlink(path);
    *crash_count += status != 0;
    return !WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM;
}

TEST(truncated_files)
{
    unsigned crash_count = 0;

    for (size_t i = 0; i <= 40; i++)
        assert_true(survives(image, image_bytes / 40 * i, (off_t)(image_bytes / 40 * i), &crash_count));
    for (size_t i = 0; i < 70; i += 3)
        assert_true(survives(image, i, (off_t)i, &crash_count));
    assert_true(survives(image, image_bytes, INT64_C(3) << 30, &crash_count)); /* sparse */
    print_message("%u of 65 truncated files crashed the reader\n", crash_count);
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*seed >> 33);
}

static void read_malformed(unsigned char *malformed, unsigned *crash_count)
{
    assert_true(survives(malformed, image_bytes, (off_t)image_bytes, crash_count));
    memcpy(malformed, image, image_bytes);
}

/* First extreme numbers in the headers, then random bytes anywhere. */
TEST(malformed_files)
{
    static const uint64_t extremes[] = {0, 1, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 63, 0x7fffffffffffffff};
    unsigned char *malformed = malloc(image_bytes);
    unsigned crash_count = 0;
    uint64_t seed = 42;
    Elf64_Ehdr header;

    memcpy(malformed, image, image_bytes);
    memcpy(&header, image, sizeof(header));
    for (int i = 0; i < 150; i++) {
        size_t section = next_random(&seed) % header.e_shnum, field = next_random(&seed) % (sizeof(Elf64_Shdr) / 8);
        size_t at = i < 8 ? (size_t)i * 8 : (size_t)header.e_shoff + section * sizeof(Elf64_Shdr) + field * 8;

        memcpy(malformed + at, &extremes[next_random(&seed) % 6], 8);
        read_malformed(malformed, &crash_count);
    }
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < 200; k++)
            malformed[64 + next_random(&seed) % (image_bytes - 64)] = (unsigned char)next_random(&seed);
        read_malformed(malformed, &crash_count);
    }
    free(malformed);
    print_message("%u of 250 malformed files crashed the reader\n", crash_count);
}

static int read_own_file(void **state)
{
    int descriptor = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat about;

    (void)state;
    if (descriptor < 0 || fstat(descriptor, &about) != 0)
        return 1;
    image_bytes = (size_t)about.st_size;
    image = malloc(image_bytes);
    if (image == NULL || read(descriptor, image, image_bytes) != (ssize_t)image_bytes)
        return 1;
    return close(descriptor);
}

static int free_own_file(void **state)
{
    (void)state;
    free(image);
    return 0;
}

int main(void)
{
    return tests_run(read_own_file, free_own_file);
}
