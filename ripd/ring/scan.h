/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - feeds every ring's live slots to the detector, in batches that stay in the first-level cache, and finds the
 * rule for each of its unclassified ids by the name in its slot.
 *
 * Guarantees
 *   A. A rule is for the registration in the list: a slot that has a new id by now gets none.
 *   B. rule_finder_run() takes about budget_ns at most. The next one begins behind the last id that was read: no ring,
 *      however many ids it registers anew, can keep the ids of another without a rule.
 */
#ifndef RIPD_RING_SCAN_H
#define RIPD_RING_SCAN_H

#include "detect/detector.h"
#include "detect/rules.h"
#include "ring/registry.h"

#define SCAN_BATCH 128u /* a microsecond or two: memory must not lie idle while the detector works */

/* Who else gets what the detector gets: each ring in the order of the scan, read within its user's time, or skipped. */
struct scan_tap {
    void *context;
    void (*ring)(void *context, struct ring *ring);
    void (*samples)(void *context, struct ring *ring, const struct rip_sample *samples, size_t count);
    void (*ring_end)(void *context, struct ring *ring); /* not of one that faulted */
    void (*skipped)(void *context, const struct ring *ring);
};

/*
 * Between detector_begin() and detector_suspects(). A ring that faults is damaged and left out. tap may be NULL. 0 or
 * -ENOMEM.
 */
int scan_run(struct registry *registry, struct detector *detector, const struct scan_tap *tap);

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
