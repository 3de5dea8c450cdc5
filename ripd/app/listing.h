/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing.h - from cases to the snapshot of a scan: describes those that are stalled, and lists them, the rings and the
 * users that were limited.
 *
 * While an id is frozen nothing in its slot changes, so it is described once, on its first stalled scan. Describing
 * costs time, which users have turns for; a stall that is not described yet is counted as left out.
 */
#ifndef RIPD_APP_LISTING_H
#define RIPD_APP_LISTING_H

#include "cases/case.h"
#include "cases/snapshot.h"
#include "detect/detector.h"
#include "ring/registry.h"
#include "sym/symbols.h"
#include "work/work.h"

struct listing {
    struct registry *registry;
    const struct detector *detector;
    struct cases *cases;
    struct work *work;       /* its queue is empty before and after */
    struct symbols *symbols; /* whose accounts are listed too; NULL = none */
    uint64_t budget_ns;
};

/* Gives each case that is stalled an item, as far as the budget reaches. */
void listing_describe(const struct listing *listing);

/* Fills in snapshot->stalls, rings, limited and what they count. 0 or -ENOMEM: what could be had is there. */
int listing_fill(const struct listing *listing, const struct detector_update *update, struct snapshot *snapshot);

#endif
