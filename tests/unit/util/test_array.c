/* SPDX-License-Identifier: Apache-2.0 */
/* test_array.c - arrays that grow and shrink, and change in the middle: ripd/util/array.h. */
#include <stdlib.h>

#include "support/test.h"
#include "util/array.h"

struct list {
    uint32_t *items;
    size_t count;
    size_t capacity;
};

TEST(grow)
{
    struct list list = {.items = NULL};
    size_t moves = 0;

    for (uint32_t i = 0; i < 1000; i++) {
        const size_t before = list.capacity;

        assert_true(ARRAY_GROW(list.items, list.count, list.capacity));
        assert_true(list.capacity > list.count);
        moves += list.capacity != before;
        list.items[list.count++] = i;
    }
    assert_true(moves < 30); /* by half of the size each time */
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(list.items[i], i);
    ARRAY_TRIM(list.items, list.capacity, 10);
    assert_true(list.capacity >= 10 && list.capacity < 100 && list.items[9] == 9);
    assert_true(ARRAY_RESERVE(list.items, list.capacity, 100));
    ARRAY_TRIM(list.items, list.capacity, 0);
    assert_null(list.items);
    assert_int_equal(list.capacity, 0);
}

TEST(an_empty_array_is_not_null)
{
    struct list list = {.items = NULL};

    assert_true(ARRAY_RESERVE(list.items, list.capacity, 0));
    assert_non_null(list.items);
    free(list.items);
}

TEST(a_failure_changes_nothing)
{
    struct list list = {.items = NULL};
    uint32_t *before;

    assert_true(ARRAY_RESERVE(list.items, list.capacity, 5));
    before = list.items;
    assert_false(ARRAY_RESERVE(list.items, list.capacity, SIZE_MAX / 4));
    assert_ptr_equal(list.items, before);
    assert_int_equal(list.capacity, 5);
    free(list.items);
}

TEST(insert_and_remove)
{
    uint32_t items[4] = {10, 30, 0, 77};
    size_t count = 2;

    ARRAY_OPEN(items, count, 1);
    items[1] = 20;
    assert_int_equal(count, 3);
    assert_true(items[0] == 10 && items[1] == 20 && items[2] == 30 && items[3] == 77);
    ARRAY_CLOSE(items, count, 0);
    assert_int_equal(count, 2);
    assert_true(items[0] == 20 && items[1] == 30 && items[3] == 77);
    ARRAY_OPEN(items, count, count); /* at the end nothing moves */
    ARRAY_CLOSE(items, count, 2);
    assert_true(count == 2 && items[1] == 30 && items[3] == 77);
    assert_int_equal(ARRAY_COUNT(items), 4);
}
