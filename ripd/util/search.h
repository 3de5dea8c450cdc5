/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - binary search in sorted arrays. Pure. Inline, so that the comparison and the size of an item are constants
 * to the compiler.
 *
 * compare(key, item) is below, equal to or above 0 as key sorts before, with or after item, in an order that the items
 * are sorted by. Items that compare equal are allowed.
 */
#ifndef RIPD_UTIL_SEARCH_H
#define RIPD_UTIL_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* For compare(): the order of two numbers. */
static inline int search_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* The first of two orders that is one: of what sorts by one thing, and then by another. */
static inline int search_order_then(int first, int second)
{
    return first != 0 ? first : second;
}

/* For compare(): the order of two pairs of numbers, by the first one first. */
static inline int search_order_pair(uint64_t a1, uint64_t a2, uint64_t b1, uint64_t b2)
{
    return search_order_then(search_order(a1, b1), search_order(a2, b2));
}

/* Index of the first item whose comparison with the key is below most, count when there is none. */
static inline size_t search_below(const void *key, const void *items, size_t count, size_t item_bytes,
                                  int (*compare)(const void *key, const void *item), int most)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (compare(key, (const char *)items + middle * item_bytes) >= most)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Index of the first item that does not sort before the key, count when all do: where the key is, or would be. */
static inline size_t search_first(const void *key, const void *items, size_t count, size_t item_bytes,
                                  int (*compare)(const void *key, const void *item))
{
    return search_below(key, items, count, item_bytes, compare, 1);
}

/* Index of the first item that sorts after the key, count when none does. */
static inline size_t search_after(const void *key, const void *items, size_t count, size_t item_bytes,
                                  int (*compare)(const void *key, const void *item))
{
    return search_below(key, items, count, item_bytes, compare, 0);
}

/* Index of the first item that is equal to the key, count when there is none. */
static inline size_t search_equal(const void *key, const void *items, size_t count, size_t item_bytes,
                                  int (*compare)(const void *key, const void *item))
{
    const size_t i = search_first(key, items, count, item_bytes, compare);

    return i < count && compare(key, (const char *)items + i * item_bytes) == 0 ? i : count;
}

#endif
