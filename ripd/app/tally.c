/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.c - what a scan came to, entered into the account.
 */
#include "app/tally.h"
#include "util/array.h"

/* Which limit of ours each counter of the registry is. */
static const struct counter_limit {
    enum health_limit limit;
    size_t offset; /* of a uint64_t */
} counter_limits[] = {
    {HEALTH_LIMIT_FILES, offsetof(struct registry_counters, files_over_limit)},
    {HEALTH_LIMIT_RINGS, offsetof(struct registry_counters, rings_over_limit)},
    {HEALTH_LIMIT_WATCH_OVERFLOWS, offsetof(struct registry_counters, watch_overflows)},
    {HEALTH_LIMIT_UNREADABLE, offsetof(struct registry_counters, unreadable_over_limit)},
    {HEALTH_LIMIT_NOTICES, offsetof(struct registry_counters, notices_over_limit)},
    {HEALTH_LIMIT_JUDGEMENTS, offsetof(struct registry_counters, judgements_put_off)},
    {HEALTH_LIMIT_MODULES, offsetof(struct registry_counters, modules_over_limit)},
};

void tally_init(struct tally *tally, uint64_t started_wall_ns)
{
    *tally = (struct tally){.health = {.started_wall_ns = started_wall_ns}};
}

void tally_add(struct tally *tally, const struct snapshot *snapshot, const struct detector_update *update,
               const struct registry_counters *counters)
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
    health->damaged_ring_count = counters->rings_damaged;
    for (size_t i = 0; i < ARRAY_COUNT(counter_limits); i++)
        health->limit_counts[counter_limits[i].limit] =
            *(const uint64_t *)((const char *)counters + counter_limits[i].offset);
    health->limit_counts[HEALTH_LIMIT_NAMES] += update->unclassified_count;
    health->limit_counts[HEALTH_LIMIT_STALLS] += snapshot->stalls_left_out_count;
    if (snapshot->waits != NULL)
        health->limit_counts[HEALTH_LIMIT_WAITS] += snapshot->waits->left_out_count;
}
