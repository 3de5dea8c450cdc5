/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search.h - binary search in sorted arrays. Pure. Inline, so that the comparison and the size of an item are
 * compile-time constants.
 *
 * compare(key, item) returns a value below, equal to or above 0 if key sorts before, with or after item. The items must
 * be sorted in that order. Items may compare equal.
 */
#ifndef RIPD_UTIL_SEARCH_H
#define RIPD_UTIL_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* For compare(): compares two numbers. */
static inline int search_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* For compare(): combines two comparisons; the second decides if the first is equal. */
static inline int search_order_then(int first, int second)
{
    return first != 0 ? first : second;
}

/* For compare(): compares two pairs of numbers, by their first numbers first. */
static inline int search_order_pair(uint64_t a1, uint64_t a2, uint64_t b1, uint64_t b2)
{
    return search_order_then(search_order(a1, b1), search_order(a2, b2));
}

/* Returns the index of the first item whose comparison with the key is below most, or count if there is none. */
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

/*
 * Returns the index of the first item that does not sort before the key, or count if all do. There the key is, or can
 * be inserted.
 */
static inline size_t search_first(const void *key, const void *items, size_t count, size_t item_bytes,
                                  int (*compare)(const void *key, const void *item))
{
    return search_below(key, items, count, item_bytes, compare, 1);
}

/* Returns the index of the first item that sorts after the key, or count if there is none. */
static inline size_t search_after(const void *key, const void *items, size_t count, size_t item_bytes,
                                  int (*compare)(const void *key, const void *item))
{
    return search_below(key, items, count, item_bytes, compare, 0);
}

/* Returns the index of the first item that is equal to the key, or count if there is none. */
static inline size_t search_equal(const void *key, const void *items, size_t count, size_t item_bytes,
                                  int (*compare)(const void *key, const void *item))
{
    const size_t i = search_first(key, items, count, item_bytes, compare);

    return i < count && compare(key, (const char *)items + i * item_bytes) == 0 ? i : count;
}

#endif
