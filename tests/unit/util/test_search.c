/* SPDX-License-Identifier: Apache-2.0 */
/* test_search.c - binary search in sorted arrays: ripd/util/search.h. */
#include "support/test.h"
#include "util/search.h"

struct item {
    uint32_t number;
    char unrelated[5];
};

static int compare(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, ((const struct item *)item)->number);
}

/* Compares with a plain loop: all arrays with each of four numbers up to twice, and all keys. */
TEST(against_a_loop)
{
    for (unsigned shape = 0; shape < 81; shape++) {
        struct item items[8];
        size_t count = 0;

        for (uint32_t number = 1, rest = shape; number <= 4; number++, rest /= 3)
            for (uint32_t copy = 0; copy < rest % 3; copy++)
                items[count++] = (struct item){.number = number};
        for (uint32_t key = 0; key <= 5; key++) {
            size_t first = 0, after = 0;

            while (first < count && items[first].number < key)
                first++;
            while (after < count && items[after].number <= key)
                after++;
            assert_int_equal(search_first(&key, items, count, sizeof(*items), compare), first);
            assert_int_equal(search_after(&key, items, count, sizeof(*items), compare), after);
            assert_int_equal(search_equal(&key, items, count, sizeof(*items), compare), first < after ? first : count);
        }
    }
}

TEST(an_empty_array)
{
    const uint32_t key = 1;

    assert_int_equal(search_first(&key, NULL, 0, sizeof(struct item), compare), 0);
    assert_int_equal(search_after(&key, NULL, 0, sizeof(struct item), compare), 0);
    assert_int_equal(search_equal(&key, NULL, 0, sizeof(struct item), compare), 0);
}

TEST(orders)
{
    assert_true(search_order(1, 2) < 0 && search_order(2, 1) > 0 && search_order(UINT64_MAX, UINT64_MAX) == 0);
    assert_true(search_order(0, UINT64_MAX) < 0); /* a difference would be 1 */
    assert_true(search_order_pair(1, 9, 2, 0) < 0 && search_order_pair(2, 0, 1, 9) > 0);
    assert_true(search_order_pair(1, 8, 1, 9) < 0 && search_order_pair(1, 9, 1, 9) == 0);
}
