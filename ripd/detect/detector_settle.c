/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector_settle.c - from suspects and their evidence to states. Pure.
 *
 * Guarantees
 *   A. Time spent stopped is not held against an id: one that was stopped and is not any more starts afresh, running.
 *   B. A stall begins only after room has been made for the events of its beginning and of its end.
 *   C. No stall begins on a late scan.
 */
#include "detect/detector_inside.h"
#include "util/array.h"

/* One that has no verdict is stalled, not examined. */
static struct verdict verdict_on(const struct detector_suspect *suspect)
{
    return suspect->verdict.state != ID_RUNNING ? suspect->verdict : (struct verdict){ID_STALLED, CAUSE_NONE};
}

/* On this scan one more event per stalled id is still possible: rings may be dropped. On the next one, one each. */
bool detector_reserve_events(struct detector *detector)
{
    const size_t open = detector->counts[ID_STALLED] + 1 + detector->adoption_count;
    struct detector_event *events =
        array_reserve(detector->events, &detector->event_capacity, detector->event_count + 1 + open, sizeof *events);

    if (!events)
        return false;
    detector->events = events;
    return true;
}

static void restart(struct detector *detector, struct table *table, size_t index, struct detector_suspect *suspect)
{
    detector_mark(detector, table, index, mark_make(detector->stamp, ID_RUNNING, CAUSE_NONE));
    detector_expect(detector, table->rules[index], detector->stamp);
    suspect->frozen_since_ns = detector->credit_ns;
    suspect->frozen_for_ns = 0;
    suspect->frozen_for_max_ns = detector->now_mono_ns - detector->history.scans[detector->stamp].previous_mono_ns;
    suspect->state = ID_RUNNING;
    suspect->cause = CAUSE_NONE;
}

static void settle_id(struct detector *detector, struct table *table, size_t index, struct detector_suspect *suspect)
{
    const struct verdict verdict = verdict_on(suspect);
    const uint32_t mark = table->marks[index];
    const enum id_state before = mark_state(mark);
    const bool begins = verdict.state == ID_STALLED && before != ID_STALLED;
    const bool ends = verdict.state != ID_STALLED && before == ID_STALLED;

    if (begins && before == ID_STOPPED) {
        restart(detector, table, index, suspect);
        return;
    }
    if (begins && (detector->late || !detector_reserve_events(detector)))
        return;
    if (ends && verdict.state == ID_EXITED)
        detector_emit(detector, suspect->ring, table, index, DETECTOR_GONE, detector->credit_ns);
    detector_mark(detector, table, index,
                  mark_make(mark_stamp(mark), verdict.state, verdict.cause) | (mark & MARK_NEVER_MOVED));
    if (begins)
        detector_emit(detector, suspect->ring, table, index, DETECTOR_STALLED, detector->credit_ns);
    if (ends && verdict.state == ID_STOPPED)
        detector_emit(detector, suspect->ring, table, index, DETECTOR_STOPPED, detector->credit_ns);
    suspect->state = verdict.state;
    suspect->cause = verdict.cause;
}

void detector_settle(struct detector *detector)
{
    struct detector_ring *ring = NULL;
    size_t from = 0;

    for (size_t i = 0; i < detector->suspect_count; i++) {
        struct detector_suspect *suspect = &detector->suspects[i];

        if (!ring || ring->serial != suspect->ring) {
            ring = detector_ring_of(detector, suspect->ring);
            from = 0;
        }
        from = table_seek(&ring->table, from, suspect->slot);
        settle_id(detector, &ring->table, from, suspect);
    }
}
