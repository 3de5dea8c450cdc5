/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_open_files.c - opens this program's own file many times, with real memory: ripd/sym/child/open_files.c.
 *
 * The tests themselves take the memory that libdw would take for files of gigabytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/sandbox.h"
#include "support/test.h"
#include "sym/child/lookup.h"
#include "sym/child/open_files.h"
#include "unit/sym_samples.h"

static struct open_files files;

static int tear_down(void **state)
{
    (void)state;
    open_files_close(&files);
    files = (struct open_files){.uses = 0};
    return 0;
}

static void add(uint64_t key)
{
    assert_int_equal(open_files_add(&files, key, open_own_program(), "/proc/self/exe", NULL, 0), 0);
}

static bool is_open(uint64_t key)
{
    return open_files_find(&files, key) != NULL;
}

static size_t count_open(void)
{
    size_t count = 0;

    for (size_t i = 0; i < OPEN_FILES_MAX; i++)
        count += files.files[i].lookup != NULL;
    return count;
}

static void *take(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    memset(memory, 1, bytes);
    return memory;
}

/* The least recently used file is closed for a new one. */
TEST(more_files_than_are_kept, NULL, tear_down)
{
    assert_false(is_open(1));
    for (uint64_t key = 1; key <= OPEN_FILES_MAX; key++)
        add(key);
    assert_true(is_open(1));
    add(100);
    assert_int_equal(count_open(), OPEN_FILES_MAX);
    assert_true(is_open(1));
    assert_false(is_open(2));
    assert_true(is_open(100));
    add(100); /* replaces itself */
    assert_int_equal(count_open(), OPEN_FILES_MAX);
    open_files_close(&files);
    assert_int_equal(count_open(), 0);
    assert_false(is_open(1));
}

TEST(a_file_that_is_no_program, NULL, tear_down)
{
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_int_equal(open_files_add(&files, 1, null, "/dev/null", NULL, 0), -ENOEXEC);
    assert_false(is_open(1));
}

/* If memory is short, only the most recently used file and the new one stay open. */
TEST(memory_is_short, NULL, tear_down)
{
    void *memory = take(OPEN_FILES_CROWDED_BYTES);

    add(1);
    add(2);
    assert_int_equal(count_open(), 2);
    assert_true(is_open(1));
    add(3);
    assert_int_equal(count_open(), 2);
    for (uint64_t i = 0; i < 20; i++) /* using them closes neither */
        assert_true(is_open(i % 2 == 0 ? 1 : 3));
    munmap(memory, OPEN_FILES_CROWDED_BYTES);
    add(4);
    assert_int_equal(count_open(), 3);
}

/* Memory that look-ups add is counted for all files together, even if files are opened and closed meanwhile. */
TEST(growth, NULL, tear_down)
{
    enum { STEPS = 8 };
    const uint64_t step = OPEN_FILES_GROWTH_BYTES / STEPS;
    void *parts[2 * STEPS];
    size_t count = 0;

    if (SANDBOX_FOR_SANITIZER) /* the sanitizer takes memory of its own */
        skip();
    add(1);
    add(2);
    for (uint64_t other = 3; is_open(1 + other % 2); other++) {
        assert_true(count < STEPS + 1);
        parts[count++] = take(step);
        if (count < 5)
            add(other);
    }
    assert_in_range(count, STEPS - 1, STEPS + 1);
    assert_int_equal(count_open(), 0);
    for (int i = 0; i < 3; i++) { /* the count starts again, without what opening takes */
        parts[count++] = take(step);
        add(1);
        assert_true(is_open(1));
    }
    while (count != 0)
        munmap(parts[--count], step);
}
