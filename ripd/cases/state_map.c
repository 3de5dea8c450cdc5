/* SPDX-License-Identifier: Apache-2.0 */
/* state_map.c - two growing columns, and the pieces. Pure. */
#include "cases/state_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

struct state_map *state_map_new(void)
{
    return calloc(1, sizeof(struct state_map));
}

void state_map_free(struct state_map *map)
{
    if (map == NULL)
        return;
    for (size_t i = 0; i < map->piece_count; i++)
        free(map->pieces[i].ring_name);
    free(map->pieces);
    free(map->ids);
    free(map->letters);
    free(map);
}

/* Makes room for one more id. Returns false if out of memory. */
static bool reserve_id(struct state_map *map)
{
    return ARRAY_GROW(map->ids, map->count, map->id_capacity) &&
           ARRAY_GROW(map->letters, map->count, map->letter_capacity);
}

/* Returns the piece that takes the next id of a ring, or NULL if out of memory. */
static struct state_piece *piece_for(struct state_map *map, uint32_t ring, const char *ring_name)
{
    struct state_piece *last = map->piece_count != 0 ? &map->pieces[map->piece_count - 1] : NULL;
    char *name;

    if (last != NULL && last->ring == ring && last->count < STATE_PIECE_IDS_MAX)
        return last;
    if (!ARRAY_GROW(map->pieces, map->piece_count, map->piece_capacity))
        return NULL;
    name = strdup(ring_name);
    if (name == NULL)
        return NULL;
    map->pieces[map->piece_count] = (struct state_piece){.ring_name = name, .ring = ring, .first = map->count};
    return &map->pieces[map->piece_count++];
}

int state_map_add(struct state_map *map, uint32_t ring, const char *ring_name, uint32_t id, enum id_state state)
{
    struct state_piece *piece = reserve_id(map) ? piece_for(map, ring, ring_name) : NULL;

    if (piece == NULL)
        return -ENOMEM;
    map->ids[map->count] = id;
    map->letters[map->count++] = id_state_letter(state);
    piece->count++;
    return 0;
}
