/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - the times of those scans that some id still refers to. Pure.
 *
 * What the detector keeps of an id's time is which scan first saw its present progress. All ids of one scan share
 * that scan's times, so an id carries four bytes, its stamp, instead of two times. A stall from before the first scan
 * has a record of its own, of the time since when it stands still.
 *
 * Guarantees
 *   A. Stamps ascend with time: of two, the lower is the earlier scan.
 *   B. history_push() never fails. Without memory a scan shares the record of the one before it, with the later's
 *      times: an id is then thought to have moved later than it did, and is accused later, never earlier.
 *   C. Memory is at most 32 bytes per id known, and 64 KB: records nobody refers to are dropped by
 *      history_prune().
 */
#ifndef RIPD_DETECT_HISTORY_H
#define RIPD_DETECT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stamps are below; when they run out, scans share the last record. */
#define HISTORY_STAMP_MAX ((UINT32_C(1) << 24) - 1)

struct history_scan {
    uint64_t credit_ns;        /* the detector's clock at this scan */
    uint64_t previous_mono_ns; /* when the scan before it was */
};

struct history {
    struct history_scan *scans;
    uint32_t count;
    uint32_t capacity;
    uint32_t prune_count; /* prune when there are this many */
};

int history_init(struct history *history);
void history_done(struct history *history);

/* Records a scan. Returns its stamp. */
uint32_t history_push(struct history *history, struct history_scan scan);

/* The number of stamps, counted from 0, whose scan was not later than credit_ns. */
uint32_t history_count_until(const struct history *history, uint64_t credit_ns);

static inline bool history_is_full(const struct history *history)
{
    return history->count >= history->prune_count;
}

/* marks: a word for each stamp. Drops the records of those that are 0, and puts the new stamps in place of the others.
 */
void history_prune(struct history *history, uint32_t *marks);

#endif
