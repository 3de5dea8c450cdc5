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

#include "cases/health.h"
#include "cases/snapshot.h"
#include "detect/detector.h"

struct tally {
    struct health health;
    uint64_t scanned_mono_ns; /* when the last scan began; 0 = none yet */
    uint64_t interval_ns;     /* as of that scan */
};

void tally_init(struct tally *tally, uint64_t started_wall_ns);

/* What a scan came to: its times and what its lists left out, its states. */
void tally_add(struct tally *tally, const struct snapshot *snapshot, const struct detector_update *update);

#endif
