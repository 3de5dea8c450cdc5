/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - feeds the live slots of every ring to the detector, in batches that fit into the first-level cache, and
 * finds the rule for each unclassified id by the name in its slot.
 *
 * Guarantees
 *   A. A rule applies to the registration in the list: a slot that has a new id by now gets none.
 *   B. rule_finder_run() takes about budget_ns at most. The next call continues after the last id that was read. So a
 *      ring that keeps registering ids cannot keep the ids of other rings without a rule.
 */
#ifndef RIPD_RING_SCAN_H
#define RIPD_RING_SCAN_H

#include "detect/detector.h"
#include "detect/rules.h"
#include "ring/registry.h"

#define SCAN_BATCH 128u /* one or two microseconds: memory must not be idle while the detector works */

/* Receives the same data as the detector: each ring in scan order, either read within its user's time, or skipped. */
struct scan_tap {
    void *context;
    void (*ring)(void *context, struct ring *ring);
    void (*samples)(void *context, struct ring *ring, const struct rip_sample *samples, size_t count);
    void (*ring_end)(void *context, struct ring *ring); /* not called after a fault */
    void (*skipped)(void *context, const struct ring *ring);
};

/*
 * Call between detector_begin() and detector_suspects(). A ring that faults becomes damaged and is left out. tap may be
 * NULL. Returns 0 or -ENOMEM.
 */
int scan_run(struct registry *registry, struct detector *detector, const struct scan_tap *tap);

/* All zero at first: no rules. */
struct rule_finder {
    struct rules_table rules;
    uint32_t next_ring; /* where the next call begins */
    uint32_t next_slot;
};

/* Replaces the rules. They are copied. */
void rule_finder_set_rules(struct rule_finder *finder, const struct rules *rules);

/* Fills in the rules of as many ids in the list as the budget allows. The list is in order of ring and slot. */
void rule_finder_run(struct rule_finder *finder, struct registry *registry, struct detector_unclassified *list,
                     size_t count, uint64_t budget_ns);

#endif
