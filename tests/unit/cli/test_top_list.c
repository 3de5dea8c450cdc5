/* SPDX-License-Identifier: Apache-2.0 */
/* test_top_list.c - pages, order and what stays selected: ripd/cli/top_list.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/item.h"
#include "cli/top_list.h"

/* Ids from first on, in order, with ages that rise and names that fall; next: a cursor or NULL. */
static json_t *page(const char *member, int first, int count, const char *next)
{
    json_t *items = json_array();
    json_t *document = json_object();

    for (int i = 0; i < count; i++) {
        char name[2] = {(char)('z' - i % 26), '\0'};

        json_array_append_new(items, json_pack("{s:s, s:i, s:i, s:s}", "ring", "r", "id", first + i, "frozen_for_ms",
                                               1000 + first + i, "name", name));
    }
    json_object_set_new(document, member, items);
    json_object_set_new(document, "next", next != NULL ? json_string(next) : json_null());
    return document;
}

static long long selected_id(const struct top_list *list)
{
    return item_number(top_list_selected(list), "id");
}

static void assert_target(const struct top_list *list, const char *expected)
{
    char target[TOP_TARGET_BYTES];

    top_list_target(list, target);
    assert_string_equal(target, expected);
}

static void test_targets(void **state)
{
    struct top_list list;

    (void)state;
    assert_int_equal(top_list_init(&list), 0);
    assert_target(&list, "/stalls?trail=0&limit=1000");
    top_list_set_which(&list, TOP_IDLE);
    assert_target(&list, "/threads?trail=0&limit=1000&state=idle");
    top_list_set_filter(&list, "a*b");
    assert_target(&list, "/threads?trail=0&limit=1000&state=idle&name=%2Aa%5C%2Ab%2A");
    top_list_set_filter(&list, "0123456789012345678901234567890123456789");
    assert_int_equal(strlen(list.filter), TOP_FILTER_BYTES - 1);
    top_list_set_filter(&list, "");
    top_list_set_which(&list, TOP_ALL);
    top_list_set_sort(&list, TOP_BY_AGE);
    assert_target(&list, "/threads?trail=0&limit=10000");
    assert_string_equal(top_list_schema(&list), "ripd/threads/1");
    assert_string_equal(top_list_member(&list), "threads");
    top_list_done(&list);
}

static void test_pages(void **state)
{
    struct top_list list;

    (void)state;
    assert_int_equal(top_list_init(&list), 0);
    assert_int_equal(top_list_take(&list, page("stalls", 0, 20, "a1"), 5), 0);
    assert_false(top_list_move(&list, 3, 5));
    assert_int_equal(selected_id(&list), 3);
    assert_int_equal(list.first, 0);
    assert_false(top_list_move(&list, 100, 5));
    assert_int_equal(selected_id(&list), 19);
    assert_int_equal(list.first, 15);
    assert_true(top_list_move(&list, 1, 5)); /* past the end: the next page */
    assert_target(&list, "/stalls?trail=0&limit=1000&after=a1");
    assert_null(top_list_selected(&list));
    assert_false(top_list_move(&list, 1, 5)); /* it has not come */
    assert_int_equal(top_list_take(&list, page("stalls", 20, 4, NULL), 5), 0);
    assert_int_equal(selected_id(&list), 20);
    assert_false(top_list_end(&list, 5));
    assert_int_equal(selected_id(&list), 23);
    assert_false(top_list_move(&list, 1, 5)); /* there is no page after it */
    assert_int_equal(selected_id(&list), 23);
    assert_false(top_list_move(&list, -100, 5));
    assert_true(top_list_move(&list, -1, 5)); /* past the beginning: the one before, from below */
    assert_target(&list, "/stalls?trail=0&limit=1000");
    assert_int_equal(top_list_take(&list, page("stalls", 0, 20, "a1"), 5), 0);
    assert_int_equal(selected_id(&list), 19);
    assert_false(top_list_home(&list));
    assert_int_equal(selected_id(&list), 0);
    assert_int_equal(list.first, 0);
    top_list_done(&list);
}

/* The list changes above what is selected. */
static void test_what_stays_selected(void **state)
{
    struct top_list list;

    (void)state;
    assert_int_equal(top_list_init(&list), 0);
    assert_int_equal(top_list_take(&list, page("stalls", 10, 20, NULL), 5), 0);
    top_list_move(&list, 7, 5);
    assert_int_equal(selected_id(&list), 17);
    assert_int_equal(list.selected - list.first, 4);
    assert_int_equal(top_list_take(&list, page("stalls", 5, 20, NULL), 5), 0);
    assert_int_equal(selected_id(&list), 17);
    assert_int_equal(list.selected - list.first, 4);
    assert_int_equal(top_list_take(&list, page("stalls", 16, 20, NULL), 5), 0);
    assert_int_equal(selected_id(&list), 17);
    assert_int_equal(list.first, 0);
    assert_int_equal(top_list_take(&list, page("stalls", 50, 1, NULL), 5), 0); /* it is gone, and most others */
    assert_int_equal(selected_id(&list), 50);
    assert_int_equal(top_list_take(&list, page("stalls", 0, 5, NULL), 5), 0); /* the first row stays the first */
    assert_int_equal(selected_id(&list), 0);
    assert_int_equal(top_list_take(&list, page("stalls", 0, 0, NULL), 5), 0);
    assert_null(top_list_selected(&list));
    assert_false(top_list_move(&list, 1, 5));
    top_list_done(&list);
}

static void test_order(void **state)
{
    struct top_list list;

    (void)state;
    assert_int_equal(top_list_init(&list), 0);
    top_list_set_sort(&list, TOP_BY_AGE);
    assert_int_equal(top_list_take(&list, page("stalls", 0, 5, NULL), 5), 0);
    assert_int_equal(selected_id(&list), 4);
    top_list_set_sort(&list, TOP_BY_THREAD);
    assert_int_equal(top_list_take(&list, page("stalls", 0, 27, NULL), 5), 0);
    assert_int_equal(selected_id(&list), 25);                    /* "a" */
    assert_int_equal(item_number(list.rows[25].item, "id"), 26); /* of the two called "z" the longest comes first */
    top_list_done(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_what_stays_selected),
        cmocka_unit_test(test_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
