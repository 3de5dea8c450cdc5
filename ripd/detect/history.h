/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - the times of those scans that some id still refers to. Pure.
 *
 * For each id the detector stores which scan first saw its present progress. All ids of one scan share the times of
 * that scan, so an id stores a 4-byte stamp instead of two times. An adopted stall has a record of its own, with the
 * time since which it is frozen.
 *
 * Guarantees
 *   A. Stamps ascend with time: the lower of two stamps is the earlier scan.
 *   B. history_push() never fails. If out of memory, a scan shares the previous record, which then gets the later
 *      times: the detector assumes that an id moved later than it did, and reports it later, never earlier.
 *   C. Memory is at most 32 bytes per known id, plus 64 KB: history_prune() drops records that no id refers to.
 */
#ifndef RIPD_DETECT_HISTORY_H
#define RIPD_DETECT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All stamps are below this one. When they run out, scans share the last record. */
#define HISTORY_STAMP_MAX ((UINT32_C(1) << 23) - 1)

struct history_scan {
    uint64_t credit_ns;        /* the detector's clock at this scan */
    uint64_t previous_mono_ns; /* real time of the scan before */
};

struct history {
    struct history_scan *scans;
    uint32_t count;
    uint32_t capacity;
    uint32_t prune_count; /* prune when count reaches this */
};

int history_init(struct history *history);
void history_done(struct history *history);

/* Records a scan. Returns its stamp. */
uint32_t history_push(struct history *history, struct history_scan scan);

/* Returns the number of stamps, counted from 0, whose scan was at or before credit_ns. */
uint32_t history_count_until(const struct history *history, uint64_t credit_ns);

static inline bool history_is_full(const struct history *history)
{
    return history->count >= history->prune_count;
}

/*
 * marks has one word per stamp, 0 if the stamp is unused. Drops the records of unused stamps, and replaces every other
 * word by the new stamp.
 */
void history_prune(struct history *history, uint32_t *marks);

#endif
