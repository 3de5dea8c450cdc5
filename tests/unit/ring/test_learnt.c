/* SPDX-License-Identifier: Apache-2.0 */
/* test_learnt.c - modules that no record names, and addresses in no module: ripd/ring/modules.c. */
#include <string.h>

#include "ring/modules.h"
#include "support/test.h"

TEST(an_address_is_looked_up_once)
{
    struct learnt *learnt = NULL;

    assert_int_equal(learnt_count(learnt), 0);
    for (uint64_t i = 1; i <= LEARNT_UNKNOWN_MAX; i++)
        assert_true(learnt_is_new(&learnt, i));
    for (uint64_t i = 1; i <= LEARNT_UNKNOWN_MAX; i++)
        assert_false(learnt_is_new(&learnt, i));
    assert_true(learnt_is_new(&learnt, 99)); /* replaces the oldest address */
    assert_true(learnt_is_new(&learnt, 1));
    assert_false(learnt_is_new(&learnt, 99));
    learnt_free(learnt);
    learnt_free(NULL);
}

TEST(modules_are_kept_up_to_the_limit)
{
    char path[2 * RIP_MODULE_PATH_BYTES] = "/lib/late.so";
    struct proc_object object = {.path = path};
    const struct rip_module_info *module;
    struct learnt *learnt = NULL;

    assert_true(learnt_is_new(&learnt, 1));
    for (uint64_t i = 0; i < LEARNT_MAX; i++) {
        object.start = 4096 * i;
        object.end = 4096 * i + 4096;
        assert_true(learnt_add(learnt, &object));
        if (i == 0) {
            memset(path, 'x', sizeof(path) - 1);
            path[sizeof(path) - 2] = 'y';
        }
    }
    assert_false(learnt_add(learnt, &object));
    assert_false(learnt_is_new(&learnt, 2));
    assert_int_equal(learnt_count(learnt), LEARNT_MAX);
    module = learnt_at(learnt, 0);
    assert_int_equal(module->path_bytes, 12);
    assert_memory_equal(module->path, "/lib/late.so", 12);
    assert_int_equal(module->flags | module->build_id_bytes, 0);
    module = learnt_at(learnt, 7);
    assert_int_equal(module->start, 7 * 4096);
    assert_int_equal(module->end, 8 * 4096);
    assert_int_equal(module->bias, 7 * 4096);
    assert_int_equal(module->path_bytes, RIP_MODULE_PATH_BYTES);
    assert_int_equal(module->flags, RIP_MODULE_PATH_TRUNCATED);
    assert_int_equal(module->path[RIP_MODULE_PATH_BYTES - 1], 'y');
    learnt_free(learnt);
}
