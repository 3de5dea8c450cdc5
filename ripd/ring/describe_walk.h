/* SPDX-License-Identifier: Apache-2.0 */
/*
 * describe_walk.h - every known id that a query allows, in order of ring serial and slot. For ripd/ring alone.
 *
 * Guarantees
 *   A. The detector alone is asked about ids that the state, the cause or the ring already rule out; what is in the
 *      ring is read only for a condition on it.
 *   B. A ring that faults on the way is damaged and left; the others are walked as if nothing had happened.
 */
#ifndef RIPD_RING_DESCRIBE_WALK_H
#define RIPD_RING_DESCRIBE_WALK_H

#include <stdbool.h>

#include "cases/query.h"
#include "detect/detector.h"
#include "ring/registry.h"

struct walk {
    struct registry *registry;
    const struct query *query;
    const struct snapshot *snapshot; /* of the detector's last scan */
    /* An id that matches; sighting has no item. 0, or -errno to end the walk. */
    int (*take)(struct walk *walk, uint32_t slot, uint32_t generation, const struct sighting *sighting);
    void *context;
    struct ring *ring; /* the one being walked */
    struct glob name;  /* of the query */
};

/* 0, or what take returned. Cursor and limit of the query are the caller's business. */
int walk_ids(struct walk *walk, const struct detector *detector);

/* describe.c: a new item of a slot of a ring that is mapped; NULL as describe_id(). */
struct item *describe_slot(struct registry *registry, struct ring *ring, uint32_t slot, uint32_t generation);

#endif
