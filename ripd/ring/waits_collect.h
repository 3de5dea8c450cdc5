/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits_collect.h - who waits for whom among the suspects of a scan, from the marks in their rings and from what their
 * memory holds (stall_case.lock).
 *
 * Guarantees
 *   A. Only suspects are read for what they wait for; other ids are read only to find those who hold locks.
 *   B. What a ring says of a wait counts only if the id stands where the scan saw it, and has stood there since.
 *   C. A holder that memory names is reported only if there is such a thread, or if it has certainly ended.
 *   D. Users have their shares of the nodes (WORK_WAITS) and turns for everything that costs time. What has no turn is
 *      not known on this scan, and other nodes come first on the next one.
 */
#ifndef RIPD_RING_WAITS_COLLECT_H
#define RIPD_RING_WAITS_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "cases/case.h"
#include "cases/waits.h"
#include "ring/registry.h"
#include "work/work.h"

/* What the graph is made from. */
struct waits_source {
    struct registry *registry;
    const struct detector *detector;
    struct cases *cases;
    struct work *work;          /* its queue is empty before and after */
    uint64_t sequence;          /* of the scan */
    const struct waits *before; /* of the scan before, or of the first look of this one; NULL = none */
};

/*
 * Between cases_begin() and cases_judge(), after the probe: fills in evidence.lock, evidence.deadlocked and doubted of
 * all suspects with a case. A new reference, or NULL: no memory.
 */
struct waits *waits_collect(const struct waits_source *source);

/* After detector_end(): names, states and thread ids of the nodes, and an item for each root. waits may be NULL. */
void waits_describe(struct waits *waits, const struct waits_source *source);

#endif
