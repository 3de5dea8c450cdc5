/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locations.h - counts ids by the location of their last breadcrumb. Pure.
 *
 * Two ids have the same location if their modules are the same file (same build id, or same path if there is none) and
 * the offsets are equal, whatever their processes. In a script, function, file and line must have the same text. Ids
 * that never snapped are one group. Ids whose address is in no known module are another.
 *
 * Guarantees
 *   A. At most LOCATIONS_GROUPS_MAX groups are kept; ids at further locations are counted in left_out_count.
 *   B. The order is total and depends only on the groups: most ids first, then module, then offset.
 *   C. Adding an id takes constant time on average, whatever locations the rings claim.
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
    bool snapped;                /* false: ids that never snapped */
    struct module_facts *module; /* a reference; NULL: not known, or never snapped */
    uint64_t offset;             /* in the module; 0 without a module */
    uint64_t count;
    uint64_t counts[ID_STATE_COUNT];
    uint64_t longest_ns; /* longest freeze of its ids that are neither running nor idle; 0: none */
    /* the id frozen longest, or else the first one; the caller fills in the example */
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
    struct hash_index index; /* groups by location; freed by locations_sort(), like what follows */
    struct {
        const struct process_facts *process;
        uint64_t address;
        uint32_t group; /* index + 1; 0 = empty */
    } memo[LOCATIONS_MEMO_COUNT];
};

/* An id to add. */
struct located_id {
    const struct process_facts *process; /* NULL: not known; must live until locations_sort() */
    bool snapped;
    uint64_t address; /* of the last breadcrumb */
    enum id_state state;
    uint64_t frozen_for_ns;
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
};

struct locations *locations_new(const struct hash_key *hash_key); /* Returns NULL if out of memory. */
void locations_free(struct locations *locations);

/* Returns 0, or -ENOMEM: then nothing changes. Not allowed after locations_sort(). */
int locations_add(struct locations *locations, const struct located_id *id);

void locations_sort(struct locations *locations);

#endif
