/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_lookup.c - this program's own file, whole and broken: ripd/sym/child/lookup.c.
 *
 * What a broken file does to libdw is not ours to promise: each is looked at in a process of its own, which may crash
 * but must come to an end.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
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

#define BROKEN_SECONDS 20u

static unsigned char *image;
static size_t image_bytes;

/* The function that is looked for. */
__attribute__((noinline)) static int sought(int number)
{
    __asm__ volatile("");
    return number + 1;
}

/*
 * Two units, one in the other, as a linker that orders by section makes them: "outer" has 64 bytes, "inner" 16 of them
 * in its middle. Their only function has the name of the unit. And a symbol as C++ has them.
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

static int first_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    *(uint64_t *)context = info->dlpi_addr;
    return 1;
}

/* An address as the file has it. */
static uint64_t in_file(uintptr_t address)
{
    uint64_t bias = 0;

    dl_iterate_phdr(first_object, &bias);
    return (uint64_t)address - bias;
}

static uint64_t sought_address(void)
{
    return in_file((uintptr_t)sought) + 1;
}

static struct lookup *lookup;

static int open_own_file(void **state)
{
    (void)state;
    return lookup_open(&lookup, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "/proc/self/exe", NULL, 0);
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
    assert_int_equal(lookup_find(lookup, sought_address(), frames), 1);
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

    assert_int_equal(lookup_find(lookup, in_file((uintptr_t)lookup_begin) + offset, frames), 1);
    assert_string_equal(frames[0].function, name);
}

TEST(units_in_units, open_own_file, close_file)
{
    assert_function(0, "outer");
    assert_function(15, "outer");
    assert_function(16, "inner");
    assert_function(31, "inner");
    assert_function(32, "outer");
    assert_function(63, "outer");
    assert_function(64, "store::scan(int)");
}

/* What an answer pointed at is let go of by the next one. */
TEST(many_answers, open_own_file, close_file)
{
    for (size_t i = 0; i < 1000; i++)
        assert_function(64 + i % 16, "store::scan(int)");
}

TEST(what_is_no_program)
{
    static const char *const paths[] = {"/dev/null", "/etc/passwd", "/proc/self/maps"};
    static const uint8_t id[] = {1, 2, 3};

    for (size_t i = 0; i < COUNT_OF(paths); i++)
        assert_int_equal(lookup_open(&lookup, open(paths[i], O_RDONLY | O_CLOEXEC), paths[i], NULL, 0), -ENOEXEC);
    assert_int_equal(lookup_open(&lookup, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "/x", id, sizeof(id)), -ESTALE);
    assert_null(lookup);
}

/* Broken files ----------------------------------------------------------------------------------------------------- */

static void look_at(const char *path)
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

/* Looks at bytes in a process of its own. False: it did not come to an end by itself. */
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
        look_at(path);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    unlink(path);
    *crash_count += status != 0;
    return !WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM;
}

TEST(cut_short)
{
    unsigned crash_count = 0;

    for (size_t i = 0; i <= 40; i++)
        assert_true(survives(image, image_bytes / 40 * i, (off_t)(image_bytes / 40 * i), &crash_count));
    for (size_t i = 0; i < 70; i += 3)
        assert_true(survives(image, i, (off_t)i, &crash_count));
    assert_true(survives(image, image_bytes, INT64_C(3) << 30, &crash_count)); /* sparse */
    print_message("%u of 65 files cut short ended a process\n", crash_count);
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*seed >> 33);
}

/* Numbers of the headers at their extremes. */
TEST(headers)
{
    static const uint64_t extremes[] = {0, 1, UINT32_MAX, UINT64_MAX, UINT64_C(1) << 63, 0x7fffffffffffffff};
    unsigned char *broken = malloc(image_bytes);
    unsigned crash_count = 0;
    uint64_t seed = 42;
    Elf64_Ehdr header;

    memcpy(&header, image, sizeof(header));
    for (int i = 0; i < 150; i++) {
        size_t section = next_random(&seed) % header.e_shnum, field = next_random(&seed) % (sizeof(Elf64_Shdr) / 8);
        size_t at = i < 8 ? (size_t)i * 8 : (size_t)header.e_shoff + section * sizeof(Elf64_Shdr) + field * 8;

        memcpy(broken, image, image_bytes);
        memcpy(broken + at, &extremes[next_random(&seed) % 6], 8);
        assert_true(survives(broken, image_bytes, (off_t)image_bytes, &crash_count));
    }
    free(broken);
    print_message("%u of 150 files with a broken header ended a process\n", crash_count);
}

TEST(contents)
{
    unsigned char *broken = malloc(image_bytes);
    unsigned crash_count = 0;
    uint64_t seed = 7;

    for (int i = 0; i < 100; i++) {
        memcpy(broken, image, image_bytes);
        for (int k = 0; k < 200; k++)
            broken[64 + next_random(&seed) % (image_bytes - 64)] = (unsigned char)next_random(&seed);
        assert_true(survives(broken, image_bytes, (off_t)image_bytes, &crash_count));
    }
    free(broken);
    print_message("%u of 100 files with broken contents ended a process\n", crash_count);
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

static int forget_own_file(void **state)
{
    (void)state;
    free(image);
    return 0;
}

int main(void)
{
    return tests_run(read_own_file, forget_own_file);
}
