/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_index.h - finds the numbers of items by a hash of their keys, with open addressing. Pure. Inline, so that a
 * search costs no call.
 *
 * The caller keeps the items, numbered from 1. It compares those that have the hash:
 *
 *   size_t probe = 0;
 *   while ((number = hash_index_next(&index, hash, &probe)) != 0 && !is_same(&items[number - 1], key))
 *       continue;
 *
 * Use a keyed hash if the keys come from others (util/hash.h).
 */
#ifndef RIPD_UTIL_HASH_INDEX_H
#define RIPD_UTIL_HASH_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* All zero at first. The caller frees places. */
struct hash_index {
    struct hash_place {
        uint64_t hash;
        uint32_t number; /* 0 = empty */
    } * places;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
};

/* Returns the next item with that hash, or 0 if there are no more. *probe is 0 at first. */
static inline uint32_t hash_index_next(const struct hash_index *index, uint64_t hash, size_t *probe)
{
    const struct hash_place *place;

    if (index->capacity == 0)
        return 0;
    do
        place = &index->places[(hash + (*probe)++) & (index->capacity - 1)];
    while (place->number != 0 && place->hash != hash);
    return place->number;
}

/* Returns false if out of memory; the index is unchanged. */
static inline bool hash_index_add(struct hash_index *index, uint64_t hash, uint32_t number)
{
    struct hash_index grown = {.capacity = index->capacity != 0 ? 2 * index->capacity : 64};
    size_t at = (size_t)hash;

    if (2 * index->count >= index->capacity) {
        grown.places = calloc(grown.capacity, sizeof(*grown.places));
        if (grown.places == NULL)
            return false;
        for (size_t i = 0; i < index->capacity; i++)
            if (index->places[i].number != 0)
                hash_index_add(&grown, index->places[i].hash, index->places[i].number);
        free(index->places);
        *index = grown;
    }
    while (index->places[at & (index->capacity - 1)].number != 0)
        at++;
    index->places[at & (index->capacity - 1)] = (struct hash_place){hash, number};
    index->count++;
    return true;
}

static inline void hash_index_clear(struct hash_index *index)
{
    if (index->count != 0)
        memset(index->places, 0, index->capacity * sizeof(*index->places));
    index->count = 0;
}

#endif
