/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector.c - the course of one scan. Pure.
 *
 * The detector keeps its own clock, the credit: each scan adds the gap since the last one, at most one interval. An
 * id is frozen from the scan that first saw its present progress, and due when the credit has grown by its threshold
 * since. So nothing that keeps the daemon from looking (a stopped daemon, a suspended host, a starved one) ages
 * anybody by more than one interval.
 *
 * Guarantees, besides those of detector.h
 *   F. After a late scan everybody has at least a quarter of an interval to show that it runs, before the scan that
 *      detector_next_due() asks for.
 *   G. No event of the end of a stall is ever lost for want of memory. A stall whose event there is no room for
 *      begins on a later scan.
 *   H. Without memory a scan still takes in every id it knew.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect/detector_inside.h"
#include "util/array.h"
#include "util/search.h"

/* What a scan that comes late leaves undecided is looked at again after this part of the interval. */
#define DETECTOR_RECHECK_DIVISOR 4u

int detector_new(struct detector **ret_detector, const struct detector_config *config)
{
    struct detector *detector = calloc(1, sizeof *detector);

    if (!detector)
        return -ENOMEM;
    if (history_init(&detector->history) < 0) {
        free(detector);
        return -ENOMEM;
    }
    detector->config = *config;
    detector->gap_interval_ns = config->interval_ns;
    detector_set_levels(detector);
    *ret_detector = detector;
    return 0;
}

void detector_free(struct detector *detector)
{
    if (!detector)
        return;
    for (size_t i = 0; i < detector->ring_count; i++)
        table_done(&detector->rings[i].table);
    table_done(&detector->added);
    history_done(&detector->history);
    free(detector->rings);
    free(detector->newcomers);
    free(detector->adoptions);
    free(detector->adoption_stamps);
    free(detector->suspects);
    free(detector->events);
    free(detector);
}

/* Renumbers the stamps so that scans to which nobody refers take no memory. Every few thousand scans, one pass. */
static void prune_history(struct detector *detector)
{
    uint32_t *in_use = history_prune_begin(&detector->history);

    if (!in_use)
        return;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t r = 0; r < detector->ring_count; r++) {
            const struct table *table = &detector->rings[r].table;

            for (size_t i = 0; i < table->count; i++) {
                uint32_t *mark = &table->marks[i];

                if (pass == 0)
                    in_use[mark_stamp(*mark)] = 1;
                else
                    *mark = (*mark & MARK_REST_MASK) | in_use[mark_stamp(*mark)] << MARK_STAMP_SHIFT;
            }
        }
        if (pass == 0)
            history_prune_end(&detector->history, in_use);
    }
    free(in_use);
}

/* What the last scan left behind. */
static void clear_scan(struct detector *detector)
{
    detector->suspects = array_trim(detector->suspects, &detector->suspect_capacity, detector->suspect_count,
                                    sizeof *detector->suspects);
    detector->events = array_trim(detector->events, &detector->event_capacity,
                                  detector->event_count + detector->counts[ID_STALLED] + detector->adoption_count,
                                  sizeof *detector->events);
    detector->newcomers = array_trim(detector->newcomers, &detector->newcomer_capacity, detector->newcomer_count,
                                     sizeof *detector->newcomers);
    table_done(&detector->added);
    for (size_t i = 0; i < detector->ring_count; i++)
        detector->rings[i].seen = false;
    detector->suspect_count = 0;
    detector->event_count = 0;
    detector->newcomer_count = 0;
    detector->unnamed_count = 0;
    detector->ring_next = 0;
    detector->current = NULL;
    detector->held_back = false;
}

/* The own clock begins with the time of the first scan, so that what was frozen before has its place on it. */
static void begin_first(struct detector *detector, uint64_t now_mono_ns)
{
    detector->started = true;
    detector->now_mono_ns = detector->credit_ns = now_mono_ns;
    detector->adopting = detector->adoption_count != 0;
    detector_stamp_adoptions(detector);
}

/* The second scan: what became of the adoptions has been told. */
static void forget_adoptions(struct detector *detector)
{
    free(detector->adoptions);
    free(detector->adoption_stamps);
    detector->adoptions = NULL;
    detector->adoption_stamps = NULL;
    detector->adoption_count = 0;
    detector->adopting = false;
}

uint64_t detector_begin(struct detector *detector, uint64_t now_mono_ns)
{
    const uint64_t interval = detector->gap_interval_ns;
    uint64_t previous, gap, counted;

    if (detector->adopting)
        forget_adoptions(detector);
    clear_scan(detector);
    if (history_is_full(&detector->history))
        prune_history(detector);
    if (!detector->started)
        begin_first(detector, now_mono_ns);
    previous = detector->now_mono_ns;
    gap = now_mono_ns > previous ? now_mono_ns - previous : 0;
    counted = gap < interval ? gap : interval;
    detector->gap_interval_ns = detector->config.interval_ns;
    detector->late = gap - counted > interval / 2;
    detector->late_count += detector->late;
    detector->now_mono_ns = previous + gap;
    detector->previous_credit_ns = detector->credit_ns;
    detector->credit_ns += counted;
    detector->scan_stamp = history_push(&detector->history, (struct history_scan){detector->credit_ns, previous});
    detector->stamp = detector->scan_stamp;
    detector_begin_levels(detector);
    return detector->late ? gap - counted : 0;
}

static int compare_serial(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, ((const struct detector_ring *)item)->serial);
}

static size_t ring_index(const struct detector *detector, size_t from, uint32_t serial)
{
    const size_t count = detector->ring_count - from;

    if (count == 0)
        return from;
    return from + search_first(&serial, &detector->rings[from], count, sizeof(*detector->rings), compare_serial);
}

struct detector_ring *detector_ring_of(const struct detector *detector, uint32_t serial)
{
    size_t i = ring_index(detector, 0, serial);

    return i < detector->ring_count && detector->rings[i].serial == serial ? &detector->rings[i] : NULL;
}

static int ring_insert(struct detector *detector, size_t index, uint32_t serial)
{
    struct detector_ring *rings =
        array_reserve(detector->rings, &detector->ring_capacity, detector->ring_count + 1, sizeof *rings);

    if (!rings)
        return -ENOMEM;
    detector->rings = rings;
    memmove(&rings[index + 1], &rings[index], (detector->ring_count - index) * sizeof *rings);
    rings[index] = (struct detector_ring){.serial = serial};
    detector->ring_count++;
    return 0;
}

int detector_ring(struct detector *detector, uint32_t serial, const uint8_t *dead, size_t process_count)
{
    int result = detector_finish_ring(detector);
    size_t index;

    if (detector->ring_next && detector->rings[detector->ring_next - 1].serial >= serial)
        return -EINVAL;
    index = ring_index(detector, detector->ring_next, serial);
    if ((index == detector->ring_count || detector->rings[index].serial != serial) &&
        ring_insert(detector, index, serial) < 0)
        return -ENOMEM;
    detector->ring_next = index + 1;
    detector->current = &detector->rings[index];
    detector->current->seen = true;
    if (detector->current->skipped)
        detector->stamp = history_push(&detector->history,
                                       (struct history_scan){detector->credit_ns, detector->current->read_mono_ns});
    detector->current->skipped = false;
    detector->current->read_mono_ns = detector->now_mono_ns;
    detector->current->read_credit_ns = detector->credit_ns;
    detector->dead = dead;
    detector->process_count = process_count;
    detector->any_dead = false;
    for (size_t i = 0; i < process_count; i++)
        detector->any_dead |= dead[i] != 0;
    detector->position = 0;
    detector->removed_count = 0;
    return result;
}

/* An id of a ring that is not read, as it was when it was read last. */
static int add_unread(struct detector *detector, const struct detector_ring *ring, size_t index)
{
    const uint32_t mark = ring->table.marks[index];
    const struct history_scan *seen = &detector->history.scans[mark_stamp(mark)];
    struct detector_suspect *suspects =
        array_reserve(detector->suspects, &detector->suspect_capacity, detector->suspect_count + 1, sizeof *suspects);

    if (!suspects)
        return -ENOMEM;
    detector->suspects = suspects;
    suspects[detector->suspect_count++] = (struct detector_suspect){
        .ring = ring->serial,
        .slot = ring->table.slots[index],
        .generation = ring->table.generations[index],
        .process = UINT16_MAX,
        .unread = true,
        .progress = ring->table.progress[index],
        .frozen_since_ns = seen->credit_ns,
        .frozen_for_ns = ring->read_credit_ns - seen->credit_ns,
        .frozen_for_max_ns =
            mark & MARK_NEVER_MOVED ? DETECTOR_UNKNOWN_NS : ring->read_mono_ns - seen->previous_mono_ns,
        .threshold_ns = detector_threshold_ns(detector, ring->table.rules[index]),
        .state = mark_state(mark),
        .cause = mark_cause(mark),
    };
    return 0;
}

int detector_skip(struct detector *detector, uint32_t serial)
{
    int result = detector_finish_ring(detector);
    struct detector_ring *ring;
    size_t index;

    if (detector->ring_next && detector->rings[detector->ring_next - 1].serial >= serial)
        return -EINVAL;
    index = ring_index(detector, detector->ring_next, serial);
    if (index == detector->ring_count || detector->rings[index].serial != serial)
        return result; /* it was never read */
    ring = &detector->rings[index];
    detector->ring_next = index + 1;
    ring->seen = true;
    ring->skipped = true;
    for (size_t i = 0; i < ring->table.count; i++) {
        const enum id_state state = mark_state(ring->table.marks[i]);

        if ((state == ID_STALLED || state == ID_STOPPED || state == ID_EXITED) && add_unread(detector, ring, i) < 0)
            result = -ENOMEM;
    }
    return result;
}

struct detector_newcomer *detector_newcomers(struct detector *detector, size_t *ret_count)
{
    detector_finish_ring(detector);
    *ret_count = detector->newcomer_count;
    return detector->newcomers;
}

struct detector_suspect *detector_suspects(struct detector *detector, size_t *ret_count)
{
    detector_finish_ring(detector);
    detector_take_rules(detector);
    *ret_count = detector->suspect_count;
    return detector->suspects;
}

/* Rings that were not named on this scan go, with all their ids. */
static void drop_rings(struct detector *detector)
{
    size_t kept = 0;

    for (size_t r = 0; r < detector->ring_count; r++) {
        struct detector_ring *ring = &detector->rings[r];

        if (ring->seen) {
            detector->rings[kept++] = *ring;
            continue;
        }
        for (size_t i = 0; i < ring->table.count; i++)
            detector_forget(detector, ring->serial, &ring->table, i);
        table_done(&ring->table);
    }
    detector->ring_count = kept;
    detector->ring_next = 0;
    detector->rings = array_trim(detector->rings, &detector->ring_capacity, kept, sizeof *detector->rings);
}

static uint64_t memory_bytes(const struct detector *detector)
{
    uint64_t bytes = sizeof *detector + detector->history.capacity * sizeof *detector->history.scans +
                     detector->ring_capacity * sizeof *detector->rings +
                     detector->suspect_capacity * sizeof *detector->suspects +
                     detector->newcomer_capacity * sizeof *detector->newcomers +
                     detector->adoption_count * (sizeof *detector->adoptions + sizeof *detector->adoption_stamps) +
                     detector->event_capacity * sizeof *detector->events;

    for (size_t i = 0; i < detector->ring_count; i++)
        bytes += detector->rings[i].table.capacity * TABLE_ID_BYTES;
    return bytes;
}

void detector_end(struct detector *detector, struct detector_update *ret_update)
{
    detector_finish_ring(detector);
    detector_take_rules(detector);
    detector_settle(detector);
    drop_rings(detector);
    if (detector->adopting)
        detector_settle_adoptions(detector);
    table_done(&detector->added);
    *ret_update = (struct detector_update){
        .suspects = detector->suspects,
        .suspect_count = detector->suspect_count,
        .events = detector->events,
        .event_count = detector->event_count,
        .adoptions = detector->adoptions,
        .adoption_count = detector->adoption_count,
        .late = detector->late,
        .late_count = detector->late_count,
        .id_count = detector->id_count,
        .unnamed_count = detector->unnamed_count,
        .memory_bytes = memory_bytes(detector),
    };
    memcpy(ret_update->counts, detector->counts, sizeof detector->counts);
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* How long until the first of a level's ids falls due. */
static uint64_t level_wait(const struct detector *detector, const struct detector_level *level)
{
    if (level->oldest_stamp == DETECTOR_NO_STAMP)
        return UINT64_MAX;
    return level->threshold_ns - (detector->credit_ns - detector->history.scans[level->oldest_stamp].credit_ns);
}

uint64_t detector_next_due(const struct detector *detector)
{
    const uint64_t recheck = detector->config.interval_ns / DETECTOR_RECHECK_DIVISOR;
    uint64_t wait = UINT64_MAX;

    if (detector->config.rule_count == 0 && detector->counts[ID_RUNNING])
        wait = detector->config.stall_after_ns; /* whoever moved on this scan, or came */
    for (size_t i = 0; i <= detector->config.rule_count; i++) {
        const uint64_t level = level_wait(detector, &detector->levels[i]);

        wait = level < wait ? level : wait;
    }
    if (detector->held_back || (detector->late && wait < recheck))
        wait = recheck;
    return add_saturated(detector->now_mono_ns, wait);
}
