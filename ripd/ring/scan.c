/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - feeds the live slots of every ring to the detector. Finds the rule of each unclassified id, with one read of
 * the mapping for each, until the time is used up. Touches the mappings, and the detector's table.
 *
 * Guarantees
 *   1. Nothing is allocated while a guard is active: a batch is read under its guard, then fed.
 *   2. A user's rings are read while the user's time and share of memory last. The others are skipped, and come first
 *      on the next scan. If a ring has too many ids, those that were reached are watched.
 *   3. A ring that faults is damaged at once. Later scans do not pass it to the detector, so the detector forgets it.
 *      The other rings are scanned as usual.
 */
#include "ring/scan.h"

#include <errno.h>

#include "os/clock.h"
#include "ring/host.h"
#include "util/search.h"

/* Memory of the detector per id: 26 bytes, and half as much again after its table has grown. */
#define ID_BYTES 40u

/* Returns how many more ids the user may have: as many as on the last scan, or those of a batch, or 0. */
static uint64_t grant_ids(struct ring_host *host, const struct ring *ring, uint64_t granted, size_t batch)
{
    uint64_t wanted = granted == 0 && ring->live_count > batch ? ring->live_count : batch;

    if (wanted > batch && !work_has_room(host->work, ring->user, WORK_CHARGED_BYTES, wanted * ID_BYTES))
        wanted = batch;
    return work_take(host->work, ring->user, WORK_CHARGED_BYTES, wanted * ID_BYTES) ? wanted : 0;
}

/* Moves the waits found on the last scan to process->waits_before. */
static void begin_waits(struct ring *ring)
{
    if (!ring->has_waits)
        return;
    ring->has_waits = false;
    for (size_t i = 0; i < ring->process_count; i++) {
        struct ring_process *process = &ring->processes[i];

        ring->has_waits |= process->waits.count != 0;
        process->waits_before = process->waits;
        process->waits = (struct process_waits){0};
    }
}

static void count_waits(struct ring *ring, const struct rip_sample *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct process_waits *waits;

        if (samples[i].call != RIP_CALL_PRIVATE || !samples[i].idle || samples[i].process >= ring->process_count)
            continue;
        waits = &ring->processes[samples[i].process].waits;
        waits->count++;
        waits->progress += samples[i].progress;
        ring->has_waits = true;
    }
}

/* Returns 0, or -EIO if the ring faulted, or -ENOMEM if the detector lacks memory for some of its ids. */
static int scan_ring(struct ring_host *host, struct ring *ring, struct detector *detector, const struct scan_tap *tap)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[SCAN_BATCH];
    uint64_t live_count = 0, granted = 0;
    size_t count;
    int result = detector_ring(detector, ring->serial, ring->conditions, ring->process_count);

    if (result != 0)
        return result;
    begin_waits(ring);
    if (tap != NULL)
        tap->ring(tap->context, ring);
    do {
        count = 0;
        if (mapping_scan(&ring->mapping, &position, samples, SCAN_BATCH, &count) != 0)
            return -EIO;
        if (live_count + count > granted)
            granted += grant_ids(host, ring, granted, count);
        if (live_count + count > granted) {
            host_notice_limit(host, "a user has more ids than can be watched at once");
            break;
        }
        if (detector_feed(detector, samples, count) != 0)
            result = -ENOMEM; /* the ids that it already knows are still watched */
        if (tap != NULL)
            tap->samples(tap->context, ring, samples, count);
        count_waits(ring, samples, count);
        live_count += count;
    } while (count == SCAN_BATCH);
    ring->live_count = live_count;
    if (tap != NULL)
        tap->ring_end(tap->context, ring);
    return result;
}

/* A ring without a turn keeps its ids. */
static int skip_ring(struct ring_host *host, const struct ring *ring, struct detector *detector)
{
    uint64_t bytes = ring->live_count * ID_BYTES;

    if (work_has_room(host->work, ring->user, WORK_CHARGED_BYTES, bytes))
        work_take(host->work, ring->user, WORK_CHARGED_BYTES, bytes);
    return detector_skip(detector, ring->serial);
}

int scan_run(struct registry *registry, struct detector *detector, const struct scan_tap *tap)
{
    struct ring_host *host = registry_host(registry);
    struct ring **rings;
    size_t count;
    int result = 0;

    work_reset(host->work, WORK_CHARGED_BYTES);
    rings = registry_rings(registry, &count);
    for (size_t i = 0; i < count;) {
        struct ring *ring = rings[i];
        uint64_t began_mono_ns;
        int error;

        if (!host_has_turn(host, ring, WORK_READ_TIME)) {
            error = skip_ring(host, ring, detector);
            if (tap != NULL)
                tap->skipped(tap->context, ring);
        } else {
            began_mono_ns = clock_mono_ns();
            error = scan_ring(host, ring, detector, tap);
            (void)host_spend(host, ring, WORK_READ_TIME, clock_mono_ns() - began_mono_ns);
        }
        if (error == -EIO) {
            registry_damage(registry, ring);
            rings = registry_rings(registry, &count); /* the damaged ring has left the array: i is now the next */
            continue;
        }
        if (error != 0)
            result = error;
        i++;
    }
    host->is_first = false;
    return result;
}

/* Rules ------------------------------------------------------------------------------------------------------------ */

#define NAMES_PER_LOOK 64u /* the clock is read once per this number: ten microseconds or so */

void rule_finder_set_rules(struct rule_finder *finder, const struct rules *rules)
{
    rules_table_make(&finder->rules, rules);
}

static int compare_place(const void *key, const void *item)
{
    const struct detector_unclassified *a = key, *b = item;

    return search_order_pair(a->ring, a->slot, b->ring, b->slot);
}

/* The ring may have been damaged after it was scanned, or may be damaged now. */
static void find_rule(struct registry *registry, const struct rules_table *rules, struct detector_unclassified *id)
{
    struct ring *ring = registry_find(registry, id->ring);
    struct rip_id_info info;
    int result = ring != NULL ? mapping_id(&ring->mapping, id->slot, &info) : 1;

    if (result < 0)
        registry_damage(registry, ring);
    else if (result == 0 && info.generation == id->generation)
        id->rule = rules_find(rules, info.name, info.name_bytes);
}

void rule_finder_run(struct rule_finder *finder, struct registry *registry, struct detector_unclassified *list,
                     size_t count, uint64_t budget_ns)
{
    const uint64_t began_mono_ns = count != 0 ? clock_mono_ns() : 0;
    const struct detector_unclassified next = {.ring = finder->next_ring, .slot = finder->next_slot};
    const size_t first = search_first(&next, list, count, sizeof(*list), compare_place);
    size_t done = 0;

    while (done < count && (done % NAMES_PER_LOOK != 0 || done == 0 || clock_mono_ns() - began_mono_ns < budget_ns)) {
        find_rule(registry, &finder->rules, &list[(first + done) % count]);
        done++;
    }
    if (done == count)
        return;
    finder->next_ring = list[(first + done) % count].ring;
    finder->next_slot = list[(first + done) % count].slot;
}
