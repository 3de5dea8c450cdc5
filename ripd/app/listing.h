/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing.h - from cases to the snapshot of a scan: describes the stalled ids, and lists the stalls, the rings and the
 * users that hit a limit.
 *
 * While an id is frozen nothing in its slot changes, so it is described once, on its first stalled scan. Describing
 * costs time, so users take turns. A stall that is not described yet is counted as left out.
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
    struct symbols *symbols; /* its accounts are listed too; NULL = none */
    uint64_t budget_ns;
};

/* Describes each stalled case, as far as the time budget allows. */
void listing_describe(const struct listing *listing);

/*
 * Fills in snapshot->stalls, rings, limited and their counts. Returns 0 or -ENOMEM; then the lists are incomplete but
 * valid.
 */
int listing_fill(const struct listing *listing, const struct detector_update *update, struct snapshot *snapshot);

#endif
