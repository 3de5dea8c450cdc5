/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newcomers.h - which rule applies to each newcomer of the detector, by the name in its slot. Touches the mappings.
 *
 * Guarantees
 *   A. An answer is of the registration that was asked about: a slot that has changed hands gets none.
 *   B. At most about budget_ns is spent per call. Who is left is asked about again on the next scan, and it is then
 *      first the turn of those behind the last one that was looked at: no ring, however many ids it registers anew,
 *      keeps the ids of another from being named.
 */
#ifndef RIPD_RING_NEWCOMERS_H
#define RIPD_RING_NEWCOMERS_H

#include "core/detector.h"
#include "core/rules.h"
#include "ring/registry.h"

/* Where the next call begins. All zero = at the first. */
struct newcomers_turn {
    uint32_t ring;
    uint32_t slot;
};

/* Fills newcomer->rule, in order of ring and slot, of as many as the budget allows. */
void newcomers_find_rules(struct newcomers_turn *turn, struct registry *registry, const struct rules *rules,
                          struct detector_newcomer *newcomers, size_t count, uint64_t budget_ns);

#endif
