/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.h - arrays that grow and shrink: a pointer, the number of items, and the capacity in items. The macros take
 * these as lvalues, and evaluate their arguments more than once. Pure.
 */
#ifndef RIPD_UTIL_ARRAY_H
#define RIPD_UTIL_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Number of items of an array. The argument must not be a pointer. */
#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Makes room for the given number of items, or for one more. Returns false if out of memory; the array is unchanged.
 * Grows by half, so that appending is cheap.
 */
#define ARRAY_RESERVE(array, capacity, needed) array_make_room(&(array), &(capacity), (needed), sizeof(*(array)))
#define ARRAY_GROW(array, count, capacity) ARRAY_RESERVE(array, capacity, (count) + 1)

/*
 * ARRAY_OPEN() moves the items from a place on up by one; there must be room. ARRAY_CLOSE() removes the item at a
 * place.
 */
#define ARRAY_OPEN(array, count, place) array_open((array), &(count), (place), sizeof(*(array)))
#define ARRAY_CLOSE(array, count, place) array_close((array), &(count), (place), sizeof(*(array)))

/* Releases memory if the capacity is much more than twice the count. */
#define ARRAY_TRIM(array, capacity, count) array_trim(&(array), &(capacity), (count), sizeof(*(array)))

/* array is the address of the pointer. */
bool array_make_room(void *array, size_t *capacity, size_t needed, size_t item_bytes);
void array_trim(void *array, size_t *capacity, size_t count, size_t item_bytes);
void array_open(void *items, size_t *count, size_t place, size_t item_bytes);
void array_close(void *items, size_t *count, size_t place, size_t item_bytes);

#endif
