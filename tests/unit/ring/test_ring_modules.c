/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_modules.c - the shared facts of modules, and their limit for each ring: ripd/ring/modules.c. */
#include "unit/registry_test.h"

#include "ring/modules.h"

static struct health health;
static size_t limit_notice_count;
static struct module_table *table;

static void on_notice(void *context, uint32_t user, enum registry_notice_kind kind, const char *name,
                      const char *reason)
{
    (void)context;
    (void)user;
    (void)name;
    assert_non_null(reason);
    limit_notice_count += kind == NOTICE_LIMIT;
}

static struct ring_host host = {.health = &health, .noticed = on_notice};

static int tear_down(void **state)
{
    (void)state;
    modules_free(table);
    table = NULL;
    return 0;
}

static struct rip_module_info module_named(const char *path, size_t path_bytes, uint64_t start)
{
    struct rip_module_info info = {
        .start = start, .end = start + 4096, .bias = start, .build_id_bytes = 2, .build_id = {0xab}};

    info.path_bytes = (uint16_t)path_bytes;
    memcpy(info.path, path, path_bytes);
    return info;
}

static struct module_facts *add(const struct rip_module_info *info)
{
    return modules_add(&table, &host, 7, info);
}

TEST(equal_modules_share_one_object)
{
    struct rip_module_info info = module_named("/usr/lib/libc.so.6", 18, 0x1000),
                           other = module_named("/libc", 5, 0x1000);
    struct module_facts *first = add(&info), *again = add(&info), *another = add(&other);

    assert_ptr_equal(first, again);
    assert_string_equal(first->name, "libc.so.6");
    assert_string_equal(first->build_id, "ab00");
    assert_ptr_not_equal(first, another);
    assert_string_equal(another->name, "libc");
    module_facts_unref(another);
    info.bias++;
    another = add(&info);
    assert_ptr_not_equal(first, another);
    module_facts_unref(another);
    module_facts_unref(first);
    tear_down(NULL);
    assert_string_equal(again->path, "/usr/lib/libc.so.6"); /* the second reference is still valid */
    module_facts_unref(again);
}

TEST(malformed_paths, NULL, tear_down)
{
    static char full[RIP_MODULE_PATH_BYTES]; /* without a terminator */
    const struct {
        const char *path;
        size_t path_bytes, shown_bytes;
        const char *name;
    } cases[] = {
        {full, sizeof(full), sizeof(full), NULL},
        {"ab\0cd/", 6, 2, "ab"},
        {"", 0, 0, ""},
    };

    memset(full, 'x', sizeof(full));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rip_module_info info = module_named(cases[i].path, cases[i].path_bytes, 0);
        struct module_facts *facts;

        info.build_id_bytes = 0;
        facts = add(&info);
        assert_int_equal(strlen(facts->path), cases[i].shown_bytes);
        assert_memory_equal(facts->path, cases[i].path, cases[i].shown_bytes);
        if (cases[i].name != NULL)
            assert_string_equal(facts->name, cases[i].name);
        assert_string_equal(facts->build_id, "");
        module_facts_unref(facts);
    }
}

TEST(more_modules_than_a_ring_can_have, NULL, tear_down)
{
    size_t refused = 0;

    for (uint64_t i = 0; i < 3 * RIP_MODULE_MAX; i++) {
        struct rip_module_info info = module_named("/lib", 4, i * 4096);
        struct module_facts *facts = add(&info);

        refused += facts == NULL;
        module_facts_unref(facts);
    }
    assert_int_equal(refused, 2 * RIP_MODULE_MAX);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_MODULES], refused);
    assert_int_equal(limit_notice_count, 1);
}
