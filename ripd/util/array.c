/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array.c - growing and shrinking arrays. Pure.
 *
 * Guarantees
 *   A. A failure leaves the array as it was.
 *   B. After ARRAY_TRIM() the capacity is at most twice the count plus ARRAY_MARGIN.
 */
#include "util/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_MARGIN 64u

static void *resize(void *items, size_t *capacity, size_t wanted, size_t item_bytes)
{
    void *moved;

    if (wanted > PTRDIFF_MAX / item_bytes)
        return NULL;
    moved = realloc(items, wanted * item_bytes);
    if (moved)
        *capacity = wanted;
    return moved;
}

bool array_make_room(void *array, size_t *capacity, size_t needed, size_t item_bytes)
{
    size_t wanted = *capacity + *capacity / 2;
    void *items;

    memcpy(&items, array, sizeof(items)); /* a pointer of any type */
    if (needed <= *capacity && items)
        return true;
    if (wanted < needed)
        wanted = needed;
    items = resize(items, capacity, wanted ? wanted : 1, item_bytes);
    if (items)
        memcpy(array, &items, sizeof(items));
    return items;
}

void array_open(void *items, size_t *count, size_t place, size_t item_bytes)
{
    unsigned char *at = (unsigned char *)items + place * item_bytes;

    memmove(at + item_bytes, at, ((*count)++ - place) * item_bytes);
}

void array_close(void *items, size_t *count, size_t place, size_t item_bytes)
{
    unsigned char *at = (unsigned char *)items + place * item_bytes;

    memmove(at, at + item_bytes, (--*count - place) * item_bytes);
}

void array_trim(void *array, size_t *capacity, size_t count, size_t item_bytes)
{
    void *items, *moved = NULL;

    if (*capacity <= 2 * count + ARRAY_MARGIN)
        return;
    memcpy(&items, array, sizeof(items)); /* a pointer of any type */
    if (count == 0) {
        free(items);
        *capacity = 0;
    } else {
        moved = resize(items, capacity, count + count / 8, item_bytes);
        if (!moved)
            return;
    }
    memcpy(array, &moved, sizeof(moved));
}
