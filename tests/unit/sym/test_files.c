/* SPDX-License-Identifier: Apache-2.0 */
/* test_files.c - which files are one, and how many are remembered: ripd/sym/files.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>

#include "sym/files.h"
#include "sym/symbols.h"
#include "unit/sym_samples.h"

static struct sym_files files;

static struct sym_file *find(const char *path, const char *build_id, uint32_t uid, uint32_t pid, uint64_t process_start,
                             uint64_t start)
{
    struct module_facts *module = sample_module(path, build_id, uid);
    struct process_facts *process = sample_process(pid, process_start);
    struct sym_file *file;

    module->start = start;
    file = files_find(&files, process, module);
    module_facts_unref(module);
    process_facts_unref(process);
    return file;
}

/* A build id is one file for all processes of a user, wherever it is mapped and whatever it is called there. */
static void test_by_build_id(void **state)
{
    struct sym_file *file = find("/a", "aabb", 1, 10, 1, 0x1000);

    (void)state;
    assert_ptr_equal(find("/b", "aabb", 1, 11, 2, 0x2000), file);
    assert_ptr_not_equal(find("/a", "aabb", 2, 10, 1, 0x1000), file);
    assert_ptr_not_equal(find("/a", "aabc", 1, 10, 1, 0x1000), file);
    assert_ptr_not_equal(find("aabb", "", 1, 10, 1, 0x1000), file); /* a path that looks like one */
    files_done(&files);
}

static void test_without_build_id(void **state)
{
    struct sym_file *file = find("/a", "", 1, 10, 1, 0x1000);

    (void)state;
    assert_ptr_equal(find("/a", "", 1, 10, 1, 0x1000), file);
    assert_ptr_not_equal(find("/b", "", 1, 10, 1, 0x1000), file);
    assert_ptr_not_equal(find("/a", "", 2, 10, 1, 0x1000), file);
    assert_ptr_not_equal(find("/a", "", 1, 11, 1, 0x1000), file);
    assert_ptr_not_equal(find("/a", "", 1, 10, 2, 0x1000), file); /* the pid was used again */
    assert_ptr_not_equal(find("/a", "", 1, 10, 1, 0x2000), file);
    files_done(&files);
}

static void test_keys_and_limit(void **state)
{
    uint64_t key = 0;
    char id[16];

    (void)state;
    for (unsigned i = 0; i < 2 * SYMBOLS_FILES_MAX + 5; i++) {
        struct sym_file *file;

        snprintf(id, sizeof(id), "%08x", i);
        file = find("/a", id, 1, 10, 1, 0);
        assert_true(file->key > key); /* the symbolizer may still have one of an old key open */
        assert_true(files.count <= SYMBOLS_FILES_MAX);
        assert_false(file->open);
        key = file->key;
        file->open = true;
    }
    files_close_all(&files);
    assert_false(find("/a", id, 1, 10, 1, 0)->open);
    files_done(&files);
    assert_int_equal(files.count, 0);
}

static void test_build_id_bytes(void **state)
{
    uint8_t bytes[SYM_BUILD_ID_BYTES];
    struct module_facts *module = sample_module("/a", "00ff1a", 1);

    (void)state;
    assert_int_equal(files_build_id(module, bytes), 3);
    assert_memory_equal(bytes, "\x00\xff\x1a", 3);
    module->build_id[0] = '\0';
    assert_int_equal(files_build_id(module, bytes), 0);
    module_facts_unref(module);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_build_id),
        cmocka_unit_test(test_without_build_id),
        cmocka_unit_test(test_keys_and_limit),
        cmocka_unit_test(test_build_id_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
