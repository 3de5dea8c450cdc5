/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health.c - updates the daemon's own counters after a scan. Pure.
 */
#include "cases/health.h"

#include <string.h>

#include "cases/snapshot.h"
#include "cases/waits.h"
#include "util/array.h"

#define US 1000u

static const uint32_t scan_buckets_us[] = HEALTH_SCAN_BUCKETS_US;
_Static_assert(ARRAY_COUNT(scan_buckets_us) == HEALTH_SCAN_BUCKET_COUNT,
               "HEALTH_SCAN_BUCKET_COUNT is not the number of HEALTH_SCAN_BUCKETS_US");

void health_scan_add(struct health *health, uint64_t duration_ns)
{
    size_t bucket = 0;

    while (bucket < HEALTH_SCAN_BUCKET_COUNT && duration_ns > (uint64_t)scan_buckets_us[bucket] * US)
        bucket++;
    health->scan_buckets[bucket]++;
    health->scan_count++;
    health->scan_total_ns += duration_ns;
}

void health_gap_add(struct health *health, uint64_t gap_ns, uint64_t interval_ns)
{
    if (interval_ns != 0 && gap_ns / interval_ns > 1)
        health->skipped_scan_count += gap_ns / interval_ns - 1;
}

void health_clear_suspects(struct health *health)
{
    memset(&health->by_cause, 0, sizeof(health->by_cause));
}

static void count_one(uint64_t *count, uint64_t *longest_ns, uint64_t ns)
{
    (*count)++;
    *longest_ns = ns > *longest_ns ? ns : *longest_ns;
}

void health_add_suspect(struct health *health, const struct detector_suspect *suspect, bool preloaded)
{
    const enum id_cause cause = suspect->cause;

    if (suspect->state == ID_STOPPED)
        health->by_cause.stopped[cause]++;
    if (suspect->state != ID_STALLED)
        return;
    count_one(&health->by_cause.stalls[cause], &health->by_cause.longest_ns[cause], suspect->frozen_for_ns);
    if (id_cause_is_certain(cause, preloaded))
        count_one(&health->by_cause.stuck[cause], &health->by_cause.stuck_longest_ns[cause], suspect->frozen_for_ns);
}

void health_add_incident(struct health *health, enum id_cause cause, bool preloaded)
{
    health->incidents_by_cause[cause]++;
    health->stuck_incidents_by_cause[cause] += id_cause_is_certain(cause, preloaded);
}

void health_add_scan(struct health *health, const struct snapshot *before, const struct snapshot *snapshot,
                     const struct detector_update *update)
{
    if (before != NULL)
        health_gap_add(health, snapshot->scanned_mono_ns - before->scanned_mono_ns, before->interval_ns);
    health_scan_add(health, snapshot->scan_duration_ns);
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        health->by_cause.stopped[cause] += update->halted_counts[cause];
    health->late_scan_count = update->late_count;
    health->detector_bytes = update->memory_bytes;
    health->id_count = update->id_count;
    health->limit_counts[HEALTH_LIMIT_NAMES] += update->unclassified_count;
    health->limit_counts[HEALTH_LIMIT_STALLS] += snapshot->stalls_left_out_count;
    if (snapshot->waits != NULL)
        health->limit_counts[HEALTH_LIMIT_WAITS] += snapshot->waits->left_out_count;
}
