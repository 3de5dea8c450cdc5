/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state_map.h - the states of many ids in a few bytes per id, for a picture of all of them. Pure.
 *
 * Ids are ordered by ring and slot. A ring is split into pieces, so that a writer of the map can pause between them.
 */
#ifndef RIPD_CASES_STATE_MAP_H
#define RIPD_CASES_STATE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "detect/state.h"

#define STATE_PIECE_IDS_MAX 8192u

/* Ids of one ring: `count` ids, starting at index `first` of the map. */
struct state_piece {
    char *ring_name;
    uint32_t ring; /* serial */
    size_t first;
    size_t count;
};

struct state_map {
    uint32_t *ids;
    char *letters; /* id_state_letter() of each id */
    size_t count;
    size_t id_capacity;
    size_t letter_capacity;
    struct state_piece *pieces;
    size_t piece_count;
    size_t piece_capacity;
};

struct state_map *state_map_new(void); /* Returns NULL if out of memory. */
void state_map_free(struct state_map *map);

/* Appends an id. Returns 0, or -ENOMEM: then the map is unchanged. */
int state_map_add(struct state_map *map, uint32_t ring, const char *ring_name, uint32_t id, enum id_state state);

#endif
