/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits_collect.h - who waits for whom among the suspects of a scan, from what they say in their rings and what their
 * memory says (suspect->lock).
 *
 * Guarantees
 *   A. Only suspects are asked for what they wait for; other ids are looked at only to find those who hold locks.
 *   B. What a ring says of a wait counts only if the id stands where the scan saw it, and has stood there since.
 *   C. Whom memory names as an owner is told only if there is such a thread, or if it is certain that it has ended.
 */
#ifndef RIPD_RING_WAITS_COLLECT_H
#define RIPD_RING_WAITS_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "cases/waits.h"
#include "detect/detector.h"
#include "ring/registry.h"

#define WAITS_LOOKUPS_MAX 65536u /* ids read in search of holders that are given as ids, per scan */

/*
 * Between detector_suspects() and detector_end(), after other evidence has been collected: fills evidence.lock and
 * evidence.deadlocked. before: what this said last, or NULL. A new reference, or NULL: no memory, and nothing is filled
 * in.
 */
struct waits *waits_collect(struct registry *registry, struct detector_suspect *suspects, size_t count,
                            const struct waits *before);

/* After detector_end(): who they are, what they do; an item for each who holds others up. waits may be NULL. */
void waits_describe(struct waits *waits, struct registry *registry, const struct detector *detector);

#endif
