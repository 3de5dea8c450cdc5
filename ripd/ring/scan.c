/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - feeds every ring's live slots to the detector, and finds the rule of each unclassified id: one read of the
 * mapping for each, until the time is over. Touches the mappings, and the detector's table.
 *
 * Guarantees
 *   1. Nothing is allocated while a guard is on: a batch is read under its guard, then fed.
 *   2. A user's rings are read as long as his time and his share of memory last. The others are skipped, and come first
 *      on the next scan; of a ring that has too many ids those that were reached are watched.
 *   3. A ring that faults is damaged at once and not named to the detector on later scans, which thereby forgets it;
 *      the other rings are scanned as if nothing had happened.
 */
#include "ring/scan.h"

#include <errno.h>

#include "os/clock.h"
#include "ring/host.h"
#include "util/search.h"

/* What the detector keeps of an id: 26 bytes, and half as much again where its table has grown. */
#define ID_BYTES 40u

/* How many ids more its user may have: as many as on the last scan, or those of a batch; 0 = none. */
static uint64_t grant_ids(struct ring_host *host, const struct ring *ring, uint64_t granted, size_t batch)
{
    uint64_t wanted = granted == 0 && ring->live_count > batch ? ring->live_count : batch;

    if (wanted > batch && !work_has_room(host->work, ring->user, WORK_CHARGED_BYTES, wanted * ID_BYTES))
        wanted = batch;
    return work_take(host->work, ring->user, WORK_CHARGED_BYTES, wanted * ID_BYTES) ? wanted : 0;
}

/* What was found on the last scan is of the one before now. */
static void begin_waits(struct ring *ring)
{
    if (!ring->has_waits)
        return;
    ring->has_waits = false;
    for (size_t i = 0; i < ring->process_count; i++) {
        struct ring_process *process = &ring->processes[i];

        ring->has_waits |= process->waits.count != 0;
        process->before = process->waits;
        process->waits = (struct process_waits){0};
    }
}

/* Who announces nothing waits for nobody: a ring of such ids costs one look at each batch. */
static void count_waits(struct ring *ring, const struct rip_sample *samples, size_t count)
{
    if (count == 0 || samples[0].call == RIP_CALL_NONE)
        return;
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

/* -EIO: it faulted. -ENOMEM: the detector lacks memory for some of its ids. */
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
            host_notice_limit(host, "a user has more ids than are watched at once");
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

/* A ring that has no turn keeps its ids. */
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
            rings = registry_rings(registry, &count); /* without it: the next one is at i now */
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

#define NAMES_PER_LOOK 64u /* at the clock: ten microseconds or so */

void rule_finder_set_rules(struct rule_finder *finder, const struct rules *rules)
{
    rules_table_make(&finder->rules, rules);
}

static int compare_place(const void *key, const void *item)
{
    const struct detector_unclassified *a = key, *b = item;

    return search_order_pair(a->ring, a->slot, b->ring, b->slot);
}

/* Its ring may have been damaged since it was scanned, or be damaged now. */
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
