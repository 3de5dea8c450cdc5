/* SPDX-License-Identifier: Apache-2.0 */
/* test_lists.c - the cache of lists: by request and scan, limited in number and size: ripd/net/lists.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/lists.h"
#include "support/test.h"

static struct span span_of(const char *text)
{
    return (struct span){text, strlen(text)};
}

static struct list *find(struct lists *lists, const char *key, uint64_t sequence)
{
    return lists_find(lists, span_of(key), sequence, sequence);
}

/* Adds a list of this scan and size. The result is for comparison only: no reference is taken. */
static struct list *keep(struct lists *lists, const char *key, uint64_t sequence, size_t length)
{
    const struct document document = {.sequence = sequence, .body = calloc(1, 1), .body_bytes = length};
    struct list *list = lists_add(lists, span_of(key), sequence, &document);

    assert_non_null(list);
    list_unref(list);
    return list;
}

TEST(by_request_and_scan)
{
    struct lists *lists = lists_new(0xabc);
    struct list *first = keep(lists, "a", 1, 10), *second = keep(lists, "a", 2, 10);
    char tag[ETAG_TEXT_BYTES];

    assert_ptr_equal(find(lists, "a", 1), first);
    assert_ptr_equal(find(lists, "a", 2), second);
    assert_null(find(lists, "a", 3));
    assert_null(find(lists, "b", 1));
    assert_null(lists_find(lists, span_of("a"), 1, 2));
    assert_null(find(lists, "ab", 1));
    list_tag(lists, span_of("a"), 1, tag);
    assert_string_equal(first->tag, tag);
    assert_string_not_equal(second->tag, tag);
    list_tag(lists, span_of("b"), 1, tag);
    assert_string_not_equal(first->tag, tag);
    list_ref(first); /* it is being sent */
    assert_int_equal(lists_bytes(lists), 20);
    lists_forget_before(lists, 2);
    assert_null(find(lists, "a", 1));
    assert_ptr_equal(find(lists, "a", 2), second);
    lists_forget_before(lists, UINT64_MAX);
    assert_int_equal(lists_bytes(lists), 10);
    list_unref(first);
    assert_int_equal(lists_bytes(lists), 0);
    lists_free(lists);
}

TEST(not_too_many)
{
    struct lists *lists = lists_new(1);
    char key[16];

    for (unsigned i = 0; i < 3 * LISTS_KEPT_MAX; i++) {
        snprintf(key, sizeof(key), "k%u", i);
        keep(lists, key, 1, 10);
        assert_non_null(find(lists, "k0", 1)); /* used again and again */
        assert_non_null(find(lists, key, 1));
    }
    assert_null(find(lists, "k1", 1));
    assert_int_equal(lists_bytes(lists), 10 * LISTS_KEPT_MAX);
    lists_free(lists);
}

TEST(not_too_large)
{
    struct lists *lists = lists_new(1);

    keep(lists, "a", 1, LISTS_KEPT_BYTES_MAX / 2);
    keep(lists, "b", 1, LISTS_KEPT_BYTES_MAX / 2);
    assert_non_null(find(lists, "a", 1));
    keep(lists, "c", 1, 1);
    assert_non_null(find(lists, "a", 1));
    assert_null(find(lists, "b", 1)); /* used longest ago */
    keep(lists, "d", 1, 2 * LISTS_KEPT_BYTES_MAX);
    assert_null(find(lists, "a", 1));
    assert_null(find(lists, "c", 1));
    assert_non_null(find(lists, "d", 1)); /* the newest, whatever its size */
    lists_free(lists);
}
