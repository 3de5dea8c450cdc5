/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_finder.h - finds the rule for each unclassified id of the detector by the name in its slot. Touches the
 * mappings.
 *
 * Guarantees
 *   A. A rule is for the registration in the list: a slot that has a new id by now gets none.
 *   B. A call takes about budget_ns at most. The next one begins behind the last id that was read: no ring, however
 *      many ids it registers anew, can keep the ids of another without a rule.
 */
#ifndef RIPD_RING_RULE_FINDER_H
#define RIPD_RING_RULE_FINDER_H

#include "detect/detector.h"
#include "detect/rules.h"
#include "ring/registry.h"

/* All zero at first: no rules. */
struct rule_finder {
    struct rules_table rules;
    uint32_t next_ring; /* where the next call begins */
    uint32_t next_slot;
};

/* Other rules; they are copied. */
void rule_finder_set_rules(struct rule_finder *finder, const struct rules *rules);

/* Fills the rule of as many of the list, which is in order of ring and slot, as the budget allows. */
void rule_finder_run(struct rule_finder *finder, struct registry *registry, struct detector_unclassified *list,
                     size_t count, uint64_t budget_ns);

#endif
