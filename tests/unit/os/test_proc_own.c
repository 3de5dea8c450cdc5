/* SPDX-License-Identifier: Apache-2.0 */
/* test_proc_own.c - what this process uses, as /proc says: ripd/os/proc_own.c, and the line it parses. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "os/file.h"
#include "os/proc.h"
#include "support/guarded_copy.h"

static void test_statm(void **state)
{
    static const char *const bad[] = {"", "\n", "1", "1 2", "1 2 x", "1 2 -3", "4503599627370496 1 1"};
    struct proc_memory memory = {.virtual_bytes = 7};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct guarded_copy copy;

        guarded_copy_new(&copy, bad[i], strlen(bad[i]) + 1);
        assert_int_equal(proc_parse_statm((char *)copy.bytes, 4096, &memory), -EINVAL);
        assert_int_equal(memory.virtual_bytes, 7);
        guarded_copy_free(&copy);
    }
    assert_int_equal(proc_parse_statm("82150 3127 1901 44 0 999 0\n", 4096, &memory), 0);
    assert_int_equal(memory.virtual_bytes, 82150 * 4096);
    assert_int_equal(memory.resident_bytes, 3127 * 4096);
    assert_int_equal(memory.anonymous_bytes, (3127 - 1901) * 4096);
    assert_int_equal(proc_parse_statm("1 1 2", 4096, &memory), 0);
    assert_int_equal(memory.anonymous_bytes, 0);
}

/* Touching private pages grows anonymous memory, touching shared ones only what is resident. */
static void test_memory(void **state)
{
    enum { BYTES = 32 << 20, SLACK = 8 << 20 };
    int proc = file_open_directory("/proc");
    struct proc_memory before, after;
    static const int kinds[] = {MAP_PRIVATE, MAP_SHARED};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        uint8_t *pages = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, kinds[i] | MAP_ANONYMOUS, -1, 0);

        assert_ptr_not_equal(pages, MAP_FAILED);
        assert_int_equal(proc_own_memory(proc, &before), 0);
        assert_int_equal(madvise(pages, BYTES, MADV_POPULATE_WRITE), 0); /* by the kernel: sanitizers keep no books */
        assert_int_equal(proc_own_memory(proc, &after), 0);
        assert_true(after.virtual_bytes >= BYTES && after.resident_bytes >= before.resident_bytes + BYTES - SLACK);
        assert_int_equal(after.anonymous_bytes >= before.anonymous_bytes + BYTES - SLACK, kinds[i] == MAP_PRIVATE);
        munmap(pages, BYTES);
    }
    close(proc);
}

static void test_descriptors(void **state)
{
    int proc = file_open_directory("/proc"), descriptors[20];
    uint64_t before, after;

    (void)state;
    assert_int_equal(proc_own_descriptors(proc, &before), 0);
    for (size_t i = 0; i < 20; i++)
        descriptors[i] = dup(proc);
    assert_int_equal(proc_own_descriptors(proc, &after), 0);
    assert_int_equal(after, before + 20);
    for (size_t i = 0; i < 20; i++)
        close(descriptors[i]);
    before = 0;
    for (int i = 0; i < 1024; i++)
        before += fcntl(i, F_GETFD) >= 0;
    assert_int_equal(proc_own_descriptors(proc, &after), 0);
    assert_int_equal(after, before);
    close(proc);
}

static void test_a_tree_without_it(void **state)
{
    int folder = file_open_directory("/");
    struct proc_memory memory;
    uint64_t count = 7;

    (void)state;
    assert_int_equal(proc_own_memory(folder, &memory), -ENOENT);
    assert_int_equal(proc_own_descriptors(folder, &count), -ENOENT);
    assert_int_equal(count, 7);
    close(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statm),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_a_tree_without_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
