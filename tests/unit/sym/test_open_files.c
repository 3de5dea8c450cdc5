/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_open_files.c - this program's own file, open many times, in real memory: ripd/sym/child/open_files.c.
 *
 * What libdw would take for a file of gigabytes the test takes itself.
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

static int add(struct open_files *files, uint64_t key)
{
    return open_files_add(files, key, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), "/proc/self/exe", NULL, 0);
}

static void *take(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    memset(memory, 1, bytes);
    return memory;
}

static size_t count_open(const struct open_files *files)
{
    size_t count = 0;

    for (size_t i = 0; i < OPEN_FILES_MAX; i++)
        count += files->files[i].lookup != NULL;
    return count;
}

/* The one used least goes for another. */
TEST(many)
{
    struct open_files files = {.uses = 0};

    assert_null(open_files_find(&files, 1));
    for (uint64_t key = 1; key <= OPEN_FILES_MAX; key++)
        assert_int_equal(add(&files, key), 0);
    assert_non_null(open_files_find(&files, 1));
    assert_int_equal(add(&files, 100), 0);
    assert_int_equal(count_open(&files), OPEN_FILES_MAX);
    assert_non_null(open_files_find(&files, 1));
    assert_null(open_files_find(&files, 2));
    assert_non_null(open_files_find(&files, 100));
    assert_int_equal(add(&files, 100), 0); /* again, in its place */
    assert_int_equal(count_open(&files), OPEN_FILES_MAX);
    open_files_close(&files);
    assert_int_equal(count_open(&files), 0);
    assert_null(open_files_find(&files, 1));
}

TEST(none)
{
    struct open_files files = {.uses = 0};

    assert_int_equal(open_files_add(&files, 1, open("/dev/null", O_RDONLY | O_CLOEXEC), "/dev/null", NULL, 0),
                     -ENOEXEC);
    assert_null(open_files_find(&files, 1));
    open_files_close(&files);
}

/* Memory is short: the last one that was used stays, and the new one. */
TEST(a_crowd)
{
    void *memory = take(OPEN_FILES_CROWDED_BYTES);
    struct open_files files = {.uses = 0};

    assert_int_equal(add(&files, 1), 0);
    assert_int_equal(add(&files, 2), 0);
    assert_int_equal(count_open(&files), 2);
    assert_non_null(open_files_find(&files, 1));
    assert_int_equal(add(&files, 3), 0);
    assert_int_equal(count_open(&files), 2);
    for (uint64_t i = 0; i < 20; i++) /* nor do these two take turns */
        assert_non_null(open_files_find(&files, i % 2 == 0 ? 1 : 3));
    munmap(memory, OPEN_FILES_CROWDED_BYTES);
    assert_int_equal(add(&files, 4), 0);
    assert_int_equal(count_open(&files), 3);
    open_files_close(&files);
}

/* What looks add is counted for all of them, whatever is opened and closed meanwhile. */
TEST(growth)
{
    enum { STEPS = 8 };
    const uint64_t step = OPEN_FILES_GROWTH_BYTES / STEPS;
    struct open_files files = {.uses = 0};
    void *parts[2 * STEPS];
    size_t count = 0;

    if (SANDBOX_FOR_SANITIZER) /* which takes memory for the memory that is taken */
        skip();
    assert_int_equal(add(&files, 1), 0);
    assert_int_equal(add(&files, 2), 0);
    for (uint64_t other = 3; open_files_find(&files, 1 + other % 2) != NULL; other++) {
        assert_true(count < STEPS + 1);
        parts[count++] = take(step);
        if (count < 5)
            assert_int_equal(add(&files, other), 0);
    }
    assert_in_range(count, STEPS - 1, STEPS + 1);
    assert_int_equal(count_open(&files), 0);
    for (int i = 0; i < 3; i++) { /* it counts anew, and not what opening takes */
        parts[count++] = take(step);
        assert_int_equal(add(&files, 1), 0);
        assert_non_null(open_files_find(&files, 1));
    }
    while (count != 0)
        munmap(parts[--count], step);
    open_files_close(&files);
}
