/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locations.h - ids counted by where their last breadcrumb is. Pure.
 *
 * Two ids are at one location when their modules are the same file (one build id; where there is none, one path) and
 * the offsets in it are the same, whatever process they are of; in a script, when function, file and line have the same
 * text. Ids that never snapped are one group, and those whose
 * address lies in no known module another.
 *
 * Guarantees
 *   A. At most LOCATIONS_GROUPS_MAX groups are kept; ids of further locations are counted in left_out_count.
 *   B. The order is total, and the same for the same groups: most ids first, then module, then offset.
 *   C. To add one takes constant time on average, whatever rings say where their ids are.
 */
#ifndef RIPD_CASES_LOCATIONS_H
#define RIPD_CASES_LOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "util/hash.h"
#include "util/hash_index.h"

#define LOCATIONS_GROUPS_MAX 65536u

struct location_group {
    bool snapped;                /* false: the ids that never snapped */
    struct module_facts *module; /* a reference; NULL: not known, or never snapped */
    uint64_t offset;             /* in it; 0 without a module */
    uint64_t count;
    uint64_t counts[ID_STATE_COUNT];
    uint64_t longest_ns; /* of its ids that are frozen: neither running nor idle; 0: there is none */
    /* the one frozen for longest, or the first met; who fills in the item is the caller's business */
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    struct item *example; /* a reference, or NULL */
};

#define LOCATIONS_MEMO_COUNT 1024u /* a power of two */

struct locations {
    struct hash_key hash_key;
    struct location_group *groups;
    size_t count;
    size_t capacity;
    uint64_t left_out_count;
    struct hash_index index; /* of groups by location; gone once sorted, like what follows */
    struct {
        const struct process_facts *process;
        uint64_t address;
        uint32_t group; /* index + 1; 0 = empty */
    } memo[LOCATIONS_MEMO_COUNT];
};

/* One id as it is added. */
struct located_id {
    const struct process_facts *process; /* NULL = not known; must live until locations_sort() */
    bool snapped;
    uint64_t address; /* of its last breadcrumb */
    enum id_state state;
    uint64_t frozen_for_ns;
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
};

struct locations *locations_new(const struct hash_key *hash_key); /* NULL: no memory */
void locations_free(struct locations *locations);

/* 0, or -ENOMEM: it is as it was. Not after locations_sort(). */
int locations_add(struct locations *locations, const struct located_id *id);

void locations_sort(struct locations *locations);

#endif
