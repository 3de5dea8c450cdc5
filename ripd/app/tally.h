/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h - keeps ripd's account of itself (cases/health.h) from scan to scan.
 *
 * Fields that others count (events, history, the command run at a stall, reloads) they count in tally.health directly,
 * on the scanner's thread; the next scan's snapshot shows them.
 */
#ifndef RIPD_APP_TALLY_H
#define RIPD_APP_TALLY_H

#include <stddef.h>
#include <stdint.h>

#include "cases/case.h"
#include "cases/health.h"
#include "detect/detector.h"
#include "probe/evidence.h"
#include "ring/registry.h"

struct tally {
    struct health health;
    uint64_t scanned_mono_ns; /* when the last scan began; 0 = none yet */
    uint64_t interval_ns;     /* as of that scan */
};

/* What one scan came to. */
struct tally_scan {
    uint64_t began_mono_ns;
    uint64_t duration_ns;
    uint64_t interval_ns; /* until the next */
    const struct detector_update *update;
    const struct registry_counters *counters;
    uint64_t unexamined_count; /* suspects, on this scan */
    struct probe_counters probe;
    struct cases_counters cases;
    uint64_t left_out_count;       /* stalls not described, on this scan */
    uint64_t waits_left_out_count; /* waits not followed, on this scan */
    uint64_t lines_missed_count;   /* log lines not written, since the start */
};

void tally_init(struct tally *tally, uint64_t started_wall_ns);
void tally_add(struct tally *tally, const struct tally_scan *scan);

#endif
