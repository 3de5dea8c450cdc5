/* SPDX-License-Identifier: Apache-2.0 */
/* test_lists.c - lists that are kept: by question and scan, not too many, not too large. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/lists.h"
#include "view/query_parse.h"

/* Keeps a list of that scan and size, and returns it for comparison only. */
static struct list *keep(struct lists *lists, const char *key, uint64_t sequence, size_t length)
{
    const struct document_frame frame = {.sequence = sequence};
    struct list *list = lists_add(lists, key, sequence, &frame, calloc(1, 1), length);

    assert_non_null(list);
    list_unref(list);
    return list;
}

static void test_by_question_and_scan(void **state)
{
    struct lists *lists = lists_new(0xabc);
    struct list *first = keep(lists, "a", 1, 10), *second = keep(lists, "a", 2, 10);
    char tag[ETAG_TEXT_BYTES];

    (void)state;
    assert_ptr_equal(lists_find(lists, "a", 1), first);
    assert_ptr_equal(lists_find(lists, "a", 2), second);
    assert_null(lists_find(lists, "a", 3));
    assert_null(lists_find(lists, "b", 1));
    list_tag(lists, "a", 1, tag);
    assert_string_equal(first->tag, tag);
    assert_string_not_equal(second->tag, tag);
    list_tag(lists, "b", 1, tag);
    assert_string_not_equal(first->tag, tag);
    list_ref(first); /* it is being sent */
    assert_int_equal(lists_bytes(lists), 20);
    lists_forget_before(lists, 2);
    assert_null(lists_find(lists, "a", 1));
    assert_ptr_equal(lists_find(lists, "a", 2), second);
    lists_forget_before(lists, UINT64_MAX);
    assert_int_equal(lists_bytes(lists), 10);
    list_unref(first);
    assert_int_equal(lists_bytes(lists), 0);
    lists_free(lists);
}

static void test_not_too_many(void **state)
{
    struct lists *lists = lists_new(1);
    char key[16];

    (void)state;
    for (unsigned i = 0; i < 3 * LISTS_KEPT_MAX; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        keep(lists, key, 1, 10);
        assert_non_null(lists_find(lists, "k0", 1)); /* used all the time */
        assert_non_null(lists_find(lists, key, 1));
    }
    assert_null(lists_find(lists, "k1", 1));
    assert_int_equal(lists_bytes(lists), 10 * LISTS_KEPT_MAX);
    lists_free(lists);
}

static void test_not_too_large(void **state)
{
    struct lists *lists = lists_new(1);

    (void)state;
    keep(lists, "a", 1, LISTS_KEPT_BYTES_MAX / 2);
    keep(lists, "b", 1, LISTS_KEPT_BYTES_MAX / 2);
    assert_non_null(lists_find(lists, "a", 1));
    keep(lists, "c", 1, 1);
    assert_non_null(lists_find(lists, "a", 1));
    assert_null(lists_find(lists, "b", 1)); /* used longest ago */
    keep(lists, "d", 1, 2 * LISTS_KEPT_BYTES_MAX);
    assert_null(lists_find(lists, "a", 1));
    assert_null(lists_find(lists, "c", 1));
    assert_non_null(lists_find(lists, "d", 1)); /* the newest, whatever its size */
    lists_free(lists);
}

/* Every parameter makes another question, and no two patterns run into each other. */
static void test_keys(void **state)
{
    static const char *const queries[] = {
        "",
        "ring=a",
        "name=a",
        "ring=ab&name=c",
        "ring=a&name=bc",
        "pid=1",
        "min_ms=1",
        "limit=1",
        "trail=1",
        "cause=null",
        "cause=!null",
        "cause=blocked",
        "cause=!blocked",
        "state=idle",
        "state=running",
        "ring=1%20a",
        "after=a00000000000000000000000000000000",
    };
    enum { COUNT = sizeof(queries) / sizeof(queries[0]) };
    char keys[COUNT + 1][LIST_KEY_BYTES];
    struct query_error error;
    struct query query;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(query_parse(queries[i], 0xff | PARAMETER_TRAIL, &query, &error), 0);
        list_key(DOCUMENT_THREADS, &query, keys[i]);
    }
    query_init(&query);
    list_key(DOCUMENT_STALLS, &query, keys[COUNT]);
    for (size_t i = 0; i <= COUNT; i++)
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(keys[i], keys[j]);
    memset(query.ring, 'r', sizeof(query.ring) - 1);
    memset(query.name, 'n', sizeof(query.name) - 1);
    query.min_ns = query.after.frozen_since_ns = UINT64_MAX;
    query.after.ring = query.after.slot = query.pid = query.id = query.limit = UINT32_MAX;
    query.one = query.after.present = true;
    list_key(DOCUMENT_THREAD, &query, keys[0]);
    assert_int_equal(keys[0][strlen(keys[0]) - 1], 'n'); /* the longest key fits */
    assert_true(strlen(keys[0]) < LIST_KEY_BYTES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_question_and_scan),
        cmocka_unit_test(test_not_too_many),
        cmocka_unit_test(test_not_too_large),
        cmocka_unit_test(test_keys),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
