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

#include "detect/detector.h"
#include "detect/rules.h"
#include "ring/registry.h"

struct newcomers;
int newcomers_new(struct newcomers **ret_newcomers, const struct rules *rules);
void newcomers_free(struct newcomers *newcomers);

/* Other rules; they are copied. */
void newcomers_set_rules(struct newcomers *newcomers, const struct rules *rules);

/* Fills the rule of as many of the list, which is in order of ring and slot, as the budget allows. */
void newcomers_find_rules(struct newcomers *newcomers, struct registry *registry, struct detector_unclassified *list,
                          size_t count, uint64_t budget_ns);

#endif
