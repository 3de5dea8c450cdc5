/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.c - what a scan came to, entered into the account.
 */
#include "app/tally.h"

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

void tally_add(struct tally *tally, const struct tally_scan *scan)
{
    struct health *health = &tally->health;

    if (tally->scanned_mono_ns != 0)
        health_gap_add(health, scan->began_mono_ns - tally->scanned_mono_ns, tally->interval_ns);
    tally->scanned_mono_ns = scan->began_mono_ns;
    tally->interval_ns = scan->interval_ns;
    health_scan_add(health, scan->duration_ns);
    health_set_suspects(health, scan->update->suspects, scan->update->suspect_count);
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        health->stopped_by_cause[cause] += scan->update->halted_counts[cause];
    health->late_scan_count = scan->update->late_count;
    health->detector_bytes = scan->update->memory_bytes;
    health->id_count = scan->update->id_count;
    health->damaged_ring_count = scan->counters->rings_damaged;
    for (size_t i = 0; i < sizeof(counter_limits) / sizeof(counter_limits[0]); i++)
        health->limit_counts[counter_limits[i].limit] =
            *(const uint64_t *)((const char *)scan->counters + counter_limits[i].offset);
    health->limit_counts[HEALTH_LIMIT_NAMES] += scan->update->unclassified_count;
    health->limit_counts[HEALTH_LIMIT_EVIDENCE] += scan->unexamined_count;
    health->limit_counts[HEALTH_LIMIT_SOCKETS] = scan->probe.sockets_cut_count;
    health->limit_counts[HEALTH_LIMIT_ENDS] = scan->probe.ends_cut_count;
    health->limit_counts[HEALTH_LIMIT_STALLS] += scan->left_out_count;
    health->limit_counts[HEALTH_LIMIT_WAITS] += scan->waits_left_out_count;
    health->limit_counts[HEALTH_LIMIT_EPISODES] = scan->cases.suppressed_count;
    health->limit_counts[HEALTH_LIMIT_BELATED] = scan->cases.belated_count;
    health->limit_counts[HEALTH_LIMIT_LOG_LINES] = scan->lines_missed_count;
}
