/* SPDX-License-Identifier: Apache-2.0 */
/* test_top_list.c - pages, order and what stays selected: ripd/cli/top_list.c. */
#include <stdio.h>
#include <string.h>

#include "cli/item.h"
#include "cli/top_list.h"
#include "support/test.h"

/* Ids of a host from first on, in order, with ages that rise and names that fall. */
static struct top_page *page(size_t host, int first, int count)
{
    json_t *items = json_array();
    struct top_page *page;

    for (int i = 0; i < count; i++) {
        char name[2] = {(char)('z' - i % 26), '\0'};

        json_array_append_new(items, json_pack("{s:s, s:i, s:i, s:s}", "ring", "r", "id", first + i, "frozen_for_ms",
                                               1000 + first + i, "name", name));
    }
    page = top_page_new(host, items);
    assert_non_null(page);
    json_decref(items);
    return page;
}

static struct top_page *chain(struct top_page *first, struct top_page *second)
{
    first->next = second;
    return first;
}

/* The ids in order, as "1 2 3"; of hosts but the first with a prime each. */
static const char *ids(const struct top_list *list)
{
    static char text[256];

    text[0] = '\0';
    for (size_t i = 0; i < list->count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%lld%.*s", i != 0 ? " " : "", list->rows[i]->id,
                 (int)list->rows[i]->host, "''''");
    return text;
}

static long long selected_id(const struct top_list *list)
{
    return top_list_selected(list)->id;
}

static void assert_target(const struct top_list *list, const char *expected)
{
    const char *schema, *member;
    char target[TOP_TARGET_BYTES];

    top_list_target(list, target, &schema, &member);
    assert_string_equal(target, expected);
    assert_string_equal(schema, list->which == TOP_STALLED ? "ripd/stalls/1" : "ripd/threads/1");
    assert_string_equal(member, list->which == TOP_STALLED ? "stalls" : "threads");
}

/* An answer that is complete. */
static void take(struct top_list *list, struct top_page *pages)
{
    assert_int_equal(top_list_take(list, pages, true, true, 5), 0);
}

TEST(targets)
{
    struct top_list list = {.which = TOP_STALLED};

    assert_target(&list, "/stalls?trail=0&limit=5000");
    top_list_set_which(&list, TOP_IDLE);
    assert_target(&list, "/threads?trail=0&limit=5000&state=idle");
    top_list_set_filter(&list, "a*b");
    assert_target(&list, "/threads?trail=0&limit=5000&state=idle&name=%2Aa%5C%2Ab%2A");
    top_list_set_filter(&list, "0123456789012345678901234567890123456789");
    assert_int_equal(strlen(list.filter), TOP_FILTER_BYTES - 1);
    top_list_done(&list);
}

/* What a row shows, of items that are as they should be and of others. */
TEST(rows)
{
    json_t *items = json_pack("[{s:s, s:i, s:i, s:s%, s:s, s:s, s:{s:s, s:i}}, i, n, {}]", "ring", "app", "id", 7,
                              "frozen_for_ms", 1500, "name", "a\0b", (size_t)3, "state", "stalled", "cause", "blocked",
                              "process", "comm", "x", "pid", 12, 5);
    struct top_page *page = top_page_new(3, items);

    assert_non_null(page);
    assert_int_equal(page->count, 4);
    assert_string_equal(page->rows[0].texts[TOP_TARGET], "/threads/app/7");
    assert_string_equal(page->rows[0].texts[TOP_CAUSE], "blocked");
    assert_string_equal(page->rows[0].texts[TOP_THREAD], "a\x01"
                                                         "b");
    assert_string_equal(page->rows[0].texts[TOP_PROCESS], "x[12]");
    assert_true(page->rows[0].urgent);
    assert_int_equal(page->rows[0].age_ms, 1500);
    for (size_t i = 1; i < 4; i++) {
        assert_string_equal(page->rows[i].texts[TOP_TARGET], "");
        assert_string_equal(page->rows[i].texts[TOP_ON], "");
        assert_int_equal(page->rows[i].id, ITEM_UNKNOWN);
        assert_int_equal(page->rows[i].host, 3);
    }
    top_page_free(page);
    json_decref(items);
}

/* The pages of a question are shown as they come; those of the next time take their place. */
TEST(pages)
{
    struct top_list list = {.which = TOP_STALLED};

    top_list_set_which(&list, TOP_ALL);
    assert_int_equal(top_list_take(&list, chain(page(0, 0, 3), page(1, 0, 2)), true, false, 5), 0);
    assert_string_equal(ids(&list), "0 1 2 0' 1'");
    assert_false(list.whole);
    assert_int_equal(top_list_take(&list, page(0, 3, 2), false, true, 5), 0);
    assert_string_equal(ids(&list), "0 1 2 3 4 0' 1'");
    assert_true(list.whole);
    take(&list, chain(page(0, 10, 2), chain(page(1, 10, 1), page(0, 12, 1))));
    assert_string_equal(ids(&list), "10 11 12 10'");
    top_list_set_which(&list, TOP_IDLE);
    assert_string_equal(ids(&list), "10 11 12 10'"); /* until the answer comes */
    assert_false(list.whole);
    assert_int_equal(top_list_take(&list, page(0, 40, 1), true, false, 5), 0);
    assert_string_equal(ids(&list), "40");
    assert_int_equal(top_list_take(&list, page(0, 40, 2), true, false, 5), 0); /* read again from its start */
    assert_string_equal(ids(&list), "40 41");
    top_list_done(&list);
}

/* What it said last stays, also if it stops answering in the middle. */
TEST(host_that_fails)
{
    struct top_list list = {.which = TOP_STALLED};

    top_list_set_which(&list, TOP_ALL);
    take(&list, chain(page(0, 0, 1), page(1, 0, 3)));
    take(&list, chain(page(0, 5, 1), chain(page(1, 5, 1), top_page_new_failed(1))));
    assert_string_equal(ids(&list), "5 0' 1' 2'");
    take(&list, chain(top_page_new_failed(0), top_page_new_failed(1)));
    assert_string_equal(ids(&list), "5 0' 1' 2'");
    take(&list, chain(top_page_new_failed(0), page(1, 7, 1)));
    assert_string_equal(ids(&list), "5 7'");
    top_list_set_which(&list, TOP_IDLE); /* of another question it has said nothing */
    take(&list, chain(top_page_new_failed(0), page(1, 7, 1)));
    assert_string_equal(ids(&list), "7'");
    top_list_done(&list);
}

TEST(moving)
{
    struct top_list list = {.which = TOP_STALLED};

    top_list_set_which(&list, TOP_ALL);
    top_list_move(&list, 1, 5);
    assert_null(top_list_selected(&list));
    take(&list, page(0, 0, 20));
    top_list_move(&list, 3, 5);
    assert_int_equal(selected_id(&list), 3);
    assert_int_equal(list.first, 0);
    top_list_move(&list, 100, 5);
    assert_int_equal(selected_id(&list), 19);
    assert_int_equal(list.first, 15);
    top_list_move(&list, -2, 5);
    assert_int_equal(selected_id(&list), 17);
    assert_int_equal(list.first, 15);
    top_list_move(&list, -100, 5);
    assert_int_equal(selected_id(&list), 0);
    top_list_move(&list, (long)list.count, 5);
    assert_int_equal(selected_id(&list), 19);
    top_list_move(&list, -(long)list.count, 5);
    assert_int_equal(selected_id(&list), 0);
    assert_int_equal(list.first, 0);
    top_list_done(&list);
}

/* The list changes above what is selected. */
TEST(what_stays_selected)
{
    struct top_list list = {.which = TOP_STALLED};

    top_list_set_which(&list, TOP_ALL);
    take(&list, page(0, 10, 20));
    top_list_move(&list, 7, 5);
    assert_int_equal(selected_id(&list), 17);
    assert_int_equal(list.selected - list.first, 4);
    take(&list, page(0, 5, 20));
    assert_int_equal(selected_id(&list), 17);
    assert_int_equal(list.selected - list.first, 4);
    take(&list, page(0, 16, 20));
    assert_int_equal(selected_id(&list), 17);
    assert_int_equal(list.first, 0);
    take(&list, page(0, 50, 1)); /* it is gone, and most others */
    assert_int_equal(selected_id(&list), 50);
    take(&list, page(0, 0, 5)); /* the first row stays the first */
    assert_int_equal(selected_id(&list), 0);
    take(&list, page(0, 0, 0));
    assert_null(top_list_selected(&list));
    top_list_done(&list);
}

TEST(order)
{
    struct top_list list = {.which = TOP_STALLED};

    take(&list, chain(page(0, 0, 2), page(1, 0, 3)));
    assert_string_equal(ids(&list), "2' 1 1' 0 0'"); /* stalls: the longest first, whichever host they are of */
    top_list_move(&list, 3, 5);
    top_list_set_sort(&list, TOP_BY_THREAD, 5); /* "z", "y", "x" on each host */
    assert_string_equal(ids(&list), "2' 1 1' 0 0'");
    assert_int_equal(list.selected, 0);
    take(&list, page(0, 0, 27));
    assert_int_equal(selected_id(&list), 25); /* "a" */
    assert_int_equal(list.rows[25]->id, 26);  /* of the two called "z" the longest comes first */
    top_list_set_which(&list, TOP_ALL);
    take(&list, page(0, 0, 3));
    assert_string_equal(ids(&list), "2 1 0");
    top_list_set_sort(&list, TOP_AS_IT_IS, 5);
    assert_string_equal(ids(&list), "0 1 2");
    top_list_set_sort(&list, TOP_BY_AGE, 5);
    assert_string_equal(ids(&list), "2 1 0");
    top_list_done(&list);
}

/* Who holds up others stands above those, however long they wait. */
TEST(who_waits_is_below)
{
    json_t *items = json_pack("[{s:i, s:i, s:[{s:i}]}, {s:i, s:i, s:s, s:[{s:i}]}, {s:i, s:i}]", "id", 1,
                              "frozen_for_ms", 9000, "waits_for", "id", 2, "id", 2, "frozen_for_ms", 7000, "cause",
                              "deadlock", "waits_for", "id", 3, "id", 3, "frozen_for_ms", 8000);
    struct top_list list = {.which = TOP_STALLED};

    take(&list, top_page_new(0, items));
    assert_string_equal(ids(&list), "3 2 1");
    top_list_set_sort(&list, TOP_BY_AGE, 5);
    assert_string_equal(ids(&list), "1 3 2");
    top_list_done(&list);
    json_decref(items);
}
