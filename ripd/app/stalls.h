/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stalls.h - the items of the ids that are stalled, kept from scan to scan.
 *
 * While an id is frozen nothing in its slot changes, so it is described once, at its first stalled scan.
 */
#ifndef RIPD_APP_STALLS_H
#define RIPD_APP_STALLS_H

#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "detect/detector.h"
#include "ring/registry.h"

struct stall_key {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint32_t tid;
    uint64_t progress;
    const struct process_facts *process; /* compared, never followed */
};

struct stalls {
    struct stall_key *keys; /* in order of ring and slot */
    struct item **items;    /* references */
    size_t count;
};

void stalls_done(struct stalls *stalls);

/*
 * Fills snapshot->stalls from the suspects that are stalled, at most SNAPSHOT_STALLS_MAX of them, and replaces what
 * was kept. 0 or -ENOMEM (what could be had is there).
 */
int stalls_collect(struct stalls *stalls, struct registry *registry, const struct detector_update *update,
                   struct snapshot *snapshot);

/* What the suspect is, as the item and the scan's times (of the snapshot, only these are read) say. The item's
   reference and that of suspect->kernel are not taken. */
struct sighting stalls_sighting(const struct detector_suspect *suspect, struct item *item,
                                const struct snapshot *snapshot);

/* The kept item of an id that is stalled; NULL if there is none. Not a new reference. */
struct item *stalls_find(const struct stalls *stalls, uint32_t ring, uint32_t slot, uint32_t generation);

#endif
