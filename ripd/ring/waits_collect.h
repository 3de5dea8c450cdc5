/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits_collect.h - finds out who waits for whom among the suspects of a scan, from the marks in their rings and from
 * their memory (stall_case.lock).
 *
 * Guarantees
 *   A. Only suspects are read for what they wait for. Other ids are read only to find the holders of locks.
 *   B. What a ring says about a wait counts only if the id is still where the scan saw it, and has not moved since.
 *   C. A holder named by memory is reported only if there is such a thread, or if the thread has certainly ended.
 *   D. Each user has a share of the nodes (WORK_WAITS), and takes turns for everything that costs time. What had no
 *      turn is not known on this scan, and the next scan begins with other nodes.
 */
#ifndef RIPD_RING_WAITS_COLLECT_H
#define RIPD_RING_WAITS_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "cases/case.h"
#include "cases/waits.h"
#include "ring/registry.h"
#include "work/work.h"

/* The input for the graph. */
struct waits_source {
    struct registry *registry;
    const struct detector *detector;
    struct cases *cases;
    struct work *work;          /* its queue is empty before and after the call */
    uint64_t sequence;          /* of the scan */
    const struct waits *before; /* of the scan before, or of the first look of this scan; NULL = none */
};

/*
 * Call between cases_begin() and cases_judge(), after the probe. Fills in evidence.lock, evidence.deadlocked and
 * doubted of all suspects with a case. Returns a new graph, or NULL if out of memory.
 */
struct waits *waits_collect(const struct waits_source *source);

/*
 * Call after detector_end(). Fills in names, states and thread ids of the nodes, and an item for each root. waits may
 * be NULL.
 */
void waits_describe(struct waits *waits, const struct waits_source *source);

#endif
