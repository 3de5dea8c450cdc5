/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.h - arrays that grow and shrink with what they hold: a pointer, the number of items, and for how many there is
 * room. The macros take them as the caller calls them, and evaluate them more than once. Pure.
 */
#ifndef RIPD_UTIL_ARRAY_H
#define RIPD_UTIL_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* How many items an array has that is no pointer. */
#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Room for so many items, or for one more. False: no memory, and all is as it was. Grows by half: appending is cheap.
 */
#define ARRAY_RESERVE(array, capacity, needed) array_make_room(&(array), &(capacity), (needed), sizeof(*(array)))
#define ARRAY_GROW(array, count, capacity) ARRAY_RESERVE(array, capacity, (count) + 1)

/* Moves the items from a place on up by one, into room that there is; or down by one, over the item at that place. */
#define ARRAY_OPEN(array, count, place) array_open((array), &(count), (place), sizeof(*(array)))
#define ARRAY_CLOSE(array, count, place) array_close((array), &(count), (place), sizeof(*(array)))

/* Gives back what exceeds count items and a margin, when that is more than half. */
#define ARRAY_TRIM(array, capacity, count) array_trim(&(array), &(capacity), (count), sizeof(*(array)))

/* array: the address of the pointer. */
bool array_make_room(void *array, size_t *capacity, size_t needed, size_t item_bytes);
void array_trim(void *array, size_t *capacity, size_t count, size_t item_bytes);
void array_open(void *items, size_t *count, size_t place, size_t item_bytes);
void array_close(void *items, size_t *count, size_t place, size_t item_bytes);

#endif
