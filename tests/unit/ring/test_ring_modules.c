/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_modules.c - modules as shared facts, and not more of them than a ring can have. */
#include "unit/registry_test.h"

#include "ring/modules.h"

static struct rip_module_info module_named(const char *path, uint64_t start)
{
    struct rip_module_info info = {.start = start, .end = start + 4096, .bias = start, .build_id_bytes = 2};

    info.build_id[0] = 0xab;
    info.path_bytes = (uint16_t)strlen(path);
    memcpy(info.path, path, strlen(path));
    return info;
}

TEST(the_same_is_one_object)
{
    struct ring_host host = {0};
    struct module_table *table = NULL;
    struct rip_module_info info = module_named("/usr/lib/libc.so.6", 0x1000), other = module_named("/libc", 0x1000);
    struct module_facts *first = modules_add(&table, &host, 7, &info);
    struct module_facts *again = modules_add(&table, &host, 7, &info);

    assert_ptr_equal(first, again);
    assert_string_equal(first->name, "libc.so.6");
    assert_string_equal(first->build_id, "ab00");
    again = modules_add(&table, &host, 7, &other);
    assert_ptr_not_equal(first, again);
    assert_string_equal(again->name, "libc");
    info.bias++;
    module_facts_unref(again);
    again = modules_add(&table, &host, 7, &info);
    assert_ptr_not_equal(first, again);
    module_facts_unref(again);
    module_facts_unref(first);
    modules_free(table);
    assert_string_equal(first->path, "/usr/lib/libc.so.6"); /* the second reference was ours to keep */
    module_facts_unref(first);
}

TEST(hostile_paths)
{
    struct ring_host host = {0};
    struct module_table *table = NULL;
    struct rip_module_info info = module_named("/a\nb", 0);
    struct module_facts *facts;

    memset(info.path, 'x', sizeof(info.path)); /* not terminated */
    info.path_bytes = RIP_MODULE_PATH_BYTES;
    facts = modules_add(&table, &host, 7, &info);
    assert_int_equal(strlen(facts->path), RIP_MODULE_PATH_BYTES);
    module_facts_unref(facts);
    memset(info.path, 0, sizeof(info.path));
    memcpy(info.path, "ab\0cd/", 6);
    info.path_bytes = 6;
    facts = modules_add(&table, &host, 7, &info);
    assert_string_equal(facts->path, "ab");
    assert_string_equal(facts->name, "ab");
    module_facts_unref(facts);
    info.path_bytes = 0;
    info.build_id_bytes = 0;
    facts = modules_add(&table, &host, 7, &info);
    assert_string_equal(facts->path, "");
    assert_string_equal(facts->build_id, "");
    module_facts_unref(facts);
    modules_free(table);
}

static void count_limit(void *context, enum registry_notice_kind kind, const char *name, const char *reason)
{
    size_t *count = context;

    (void)name;
    assert_non_null(reason);
    *count += kind == NOTICE_LIMIT;
}

TEST(a_ring_that_changes_its_modules)
{
    struct health health = {0};
    size_t refused = 0, notice_count = 0;
    struct ring_host host = {.health = &health, .noticed = count_limit, .notice_context = &notice_count};
    struct module_table *table = NULL;

    for (uint64_t i = 0; i < 3 * RIP_MODULE_MAX; i++) {
        struct rip_module_info info = module_named("/lib", i * 4096);
        struct module_facts *facts = modules_add(&table, &host, 7, &info);

        refused += facts == NULL;
        module_facts_unref(facts);
    }
    assert_int_equal(refused, 2 * RIP_MODULE_MAX);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_MODULES], refused);
    assert_int_equal(notice_count, 1);
    modules_free(table);
}
