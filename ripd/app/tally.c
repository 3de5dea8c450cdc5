/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.c - what a scan came to, entered into the account.
 */
#include "app/tally.h"

#include "cases/waits.h"

void tally_init(struct tally *tally, uint64_t started_wall_ns)
{
    *tally = (struct tally){.health = {.started_wall_ns = started_wall_ns}};
}

void tally_add(struct tally *tally, const struct snapshot *snapshot, const struct detector_update *update)
{
    struct health *health = &tally->health;

    if (tally->scanned_mono_ns != 0)
        health_gap_add(health, snapshot->scanned_mono_ns - tally->scanned_mono_ns, tally->interval_ns);
    tally->scanned_mono_ns = snapshot->scanned_mono_ns;
    tally->interval_ns = snapshot->interval_ns;
    health_scan_add(health, snapshot->scan_duration_ns);
    health_set_suspects(health, update->suspects, update->suspect_count);
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        health->stopped_by_cause[cause] += update->halted_counts[cause];
    health->late_scan_count = update->late_count;
    health->detector_bytes = update->memory_bytes;
    health->id_count = update->id_count;
    health->limit_counts[HEALTH_LIMIT_NAMES] += update->unclassified_count;
    health->limit_counts[HEALTH_LIMIT_STALLS] += snapshot->stalls_left_out_count;
    if (snapshot->waits != NULL)
        health->limit_counts[HEALTH_LIMIT_WAITS] += snapshot->waits->left_out_count;
}
