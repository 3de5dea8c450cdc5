/* SPDX-License-Identifier: Apache-2.0 */
/* test_top_list.c - pages, order and selection: ripd/cli/top_list.c. */
#include <stdio.h>
#include <string.h>

#include "cli/item.h"
#include "cli/top_list.h"
#include "support/test.h"
#include "util/text.h"

static struct top_list list;

static int set_up(void **state)
{
    (void)state;
    list = (struct top_list){.which = TOP_STALLED};
    return 0;
}

/* Lists all ids, in their own order. */
static int set_up_all(void **state)
{
    set_up(state);
    top_list_set_which(&list, TOP_ALL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    top_list_done(&list);
    return 0;
}

/* Makes a page of a host: ids from first on, with rising ages and falling names. */
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

/* Compares the ids in order, for example "1 2 3". An id of the second host has a prime. */
static void assert_ids(const char *expected)
{
    char text[256] = "";

    for (size_t i = 0; i < list.count; i++)
        text_append(text, sizeof(text), "%s%lld%.*s", i != 0 ? " " : "", list.rows[i]->id, (int)list.rows[i]->host,
                    "''''");
    assert_string_equal(text, expected);
}

static void assert_selected(long long id)
{
    assert_non_null(top_list_selected(&list));
    assert_int_equal(top_list_selected(&list)->id, id);
}

static void assert_target(const char *expected)
{
    const char *schema, *member;
    char target[TOP_TARGET_BYTES];

    top_list_target(&list, target, &schema, &member);
    assert_string_equal(target, expected);
    assert_string_equal(schema, list.which == TOP_STALLED ? "ripd/stalls/1" : "ripd/threads/1");
    assert_string_equal(member, list.which == TOP_STALLED ? "stalls" : "threads");
}

/* Takes pages of an answer, with five rows on the screen. */
static void take_part(struct top_page *pages, bool is_first, bool is_last)
{
    assert_int_equal(top_list_take(&list, pages, is_first, is_last, 5), 0);
}

static void take(struct top_page *pages)
{
    take_part(pages, true, true);
}

static void move(long rows)
{
    top_list_move(&list, rows, 5);
}

TEST(targets, set_up, tear_down)
{
    assert_target("/stalls?trail=0&limit=5000");
    top_list_set_which(&list, TOP_IDLE);
    assert_target("/threads?trail=0&limit=5000&state=idle");
    top_list_set_filter(&list, "a*b");
    assert_target("/threads?trail=0&limit=5000&state=idle&name=%2Aa%5C%2Ab%2A");
    top_list_set_filter(&list, "0123456789012345678901234567890123456789");
    assert_int_equal(strlen(list.filter), TOP_FILTER_BYTES - 1);
}

/* The columns of a complete item, and of malformed items. */
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

/* Pages are shown as they arrive. The pages of the next answer replace them. */
TEST(pages, set_up_all, tear_down)
{
    take_part(chain(page(0, 0, 3), page(1, 0, 2)), true, false);
    assert_ids("0 1 2 0' 1'");
    assert_false(list.whole);
    take_part(page(0, 3, 2), false, true);
    assert_ids("0 1 2 3 4 0' 1'");
    assert_true(list.whole);
    take(chain(page(0, 10, 2), chain(page(1, 10, 1), page(0, 12, 1))));
    assert_ids("10 11 12 10'");
    top_list_set_which(&list, TOP_IDLE);
    assert_ids("10 11 12 10'"); /* until the answer arrives */
    assert_false(list.whole);
    take_part(page(0, 40, 1), true, false);
    assert_ids("40");
    take_part(page(0, 40, 2), true, false); /* the query starts again */
    assert_ids("40 41");
}

/* The last answer of a host stays, also if the host fails in the middle of the next one. */
TEST(host_that_fails, set_up_all, tear_down)
{
    take(chain(page(0, 0, 1), page(1, 0, 3)));
    take(chain(page(0, 5, 1), chain(page(1, 5, 1), top_page_new_failed(1))));
    assert_ids("5 0' 1' 2'");
    take(chain(top_page_new_failed(0), top_page_new_failed(1)));
    assert_ids("5 0' 1' 2'");
    take(chain(top_page_new_failed(0), page(1, 7, 1)));
    assert_ids("5 7'");
    top_list_set_which(&list, TOP_IDLE); /* a new query: there is no last answer */
    take(chain(top_page_new_failed(0), page(1, 7, 1)));
    assert_ids("7'");
}

TEST(moving, set_up_all, tear_down)
{
    move(1);
    assert_null(top_list_selected(&list));
    take(page(0, 0, 20));
    move(3);
    assert_selected(3);
    assert_int_equal(list.first, 0);
    move(100);
    assert_selected(19);
    assert_int_equal(list.first, 15);
    move(-2);
    assert_selected(17);
    assert_int_equal(list.first, 15);
    move(-100);
    assert_selected(0);
    move((long)list.count);
    assert_selected(19);
    move(-(long)list.count);
    assert_selected(0);
    assert_int_equal(list.first, 0);
}

/* The selected id stays selected if the list changes above it. */
TEST(the_selected_id_stays_selected, set_up_all, tear_down)
{
    take(page(0, 10, 20));
    move(7);
    assert_selected(17);
    assert_int_equal(list.selected - list.first, 4);
    take(page(0, 5, 20));
    assert_selected(17);
    assert_int_equal(list.selected - list.first, 4);
    take(page(0, 16, 20));
    assert_selected(17);
    assert_int_equal(list.first, 0);
    take(chain(page(0, 16, 20), page(1, 16, 2)));
    move(20);
    assert_int_equal(top_list_selected(&list)->host, 1);
    take(chain(page(0, 16, 20), page(1, 17, 1))); /* both hosts have an id 17 */
    assert_selected(17);
    assert_int_equal(top_list_selected(&list)->host, 1);
    take(page(0, 50, 1)); /* it is gone, like most others */
    assert_selected(50);
    take(page(0, 0, 5)); /* a selected first row stays the first row */
    assert_selected(0);
    take(page(0, 0, 0));
    assert_null(top_list_selected(&list));
}

TEST(order, set_up, tear_down)
{
    take(chain(page(0, 0, 2), page(1, 0, 3)));
    assert_ids("2' 1 1' 0 0'"); /* stalls of all hosts, the longest first */
    move(3);
    top_list_set_sort(&list, TOP_BY_THREAD, 5); /* "z", "y", "x" on each host */
    assert_ids("2' 1 1' 0 0'");
    assert_int_equal(list.selected, 0);
    take(page(0, 0, 27));
    assert_selected(25);                     /* "a" */
    assert_int_equal(list.rows[25]->id, 26); /* of two with the name "z" the longest comes first */
    top_list_set_which(&list, TOP_ALL);
    take(page(0, 0, 3));
    assert_ids("2 1 0");
    top_list_set_sort(&list, TOP_AS_IT_IS, 5);
    assert_ids("0 1 2");
    top_list_set_sort(&list, TOP_BY_AGE, 5);
    assert_ids("2 1 0");
}

/* An id that others wait for is listed above them, even if they have waited longer. */
TEST(holders_come_first, set_up, tear_down)
{
    json_t *items = json_pack("[{s:i, s:i, s:[{s:i}]}, {s:i, s:i, s:s, s:[{s:i}]}, {s:i, s:i}]", "id", 1,
                              "frozen_for_ms", 9000, "waits_for", "id", 2, "id", 2, "frozen_for_ms", 7000, "cause",
                              "deadlock", "waits_for", "id", 3, "id", 3, "frozen_for_ms", 8000);

    take(top_page_new(0, items));
    assert_ids("3 2 1");
    top_list_set_sort(&list, TOP_BY_AGE, 5);
    assert_ids("1 3 2");
    json_decref(items);
}
