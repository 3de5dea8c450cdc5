/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector_inside.h - what the parts of the detector share; for detector*.c alone.
 *
 *   detector.c          the course of a scan: begin, rings, end, next due
 *   detector_feed.c     samples against the table: who moved, came, went
 *   detector_settle.c   suspects into states, and the events of that
 *   detector_view.c     what is known, for others
 */
#ifndef RIPD_CORE_DETECTOR_INSIDE_H
#define RIPD_CORE_DETECTOR_INSIDE_H

#include "core/detector.h"
#include "core/history.h"
#include "core/table.h"

#define DETECTOR_NO_STAMP HISTORY_STAMP_MAX /* no scan ever has it */

_Static_assert(HISTORY_STAMP_MAX == UINT32_MAX >> MARK_STAMP_SHIFT, "a stamp does not fit a mark");

struct detector_ring {
    uint32_t serial;
    bool seen; /* on this scan */
    struct table table;
};

struct detector {
    struct detector_config config;

    /* the clock */
    struct history history;
    uint64_t now_mono_ns;
    uint64_t credit_ns;          /* the detector's own clock: gaps, of which at most one interval each counts */
    uint64_t previous_credit_ns; /* the same on the scan before */
    bool started;
    bool late;
    uint64_t late_count;

    /* this scan */
    uint32_t stamp;        /* of this scan */
    uint32_t due_count;    /* stamps below this one have been frozen for the threshold */
    uint32_t oldest_stamp; /* of the ids that did not move and are not due yet; DETECTOR_NO_STAMP = there is none */
    bool held_back;        /* an id would have been a suspect, had the scan not been late */

    struct detector_ring *rings; /* ascending by serial */
    size_t ring_count;
    size_t ring_capacity;
    size_t ring_next;              /* where the search for the next ring starts */
    struct detector_ring *current; /* the ring being fed; NULL = none */
    const uint8_t *dead;
    size_t process_count;
    bool any_dead;
    size_t position;      /* in the table of the current ring */
    size_t removed_count; /* ids of it marked TABLE_REMOVED so far */
    struct table added;   /* ids of it that are new */

    struct detector_suspect *suspects;
    size_t suspect_count;
    size_t suspect_capacity;

    /* There is room for an event for every stalled id, always: the end of a stall is never lost (see settle). */
    struct detector_event *events;
    size_t event_count;
    size_t event_capacity;

    uint64_t counts[ID_STATE_COUNT];
    uint64_t id_count;
};

/* Gives an id another mark and keeps count. */
static inline void detector_mark(struct detector *detector, struct table *table, size_t index, uint32_t mark)
{
    detector->counts[mark_state(table->marks[index])]--;
    detector->counts[mark_state(mark)]++;
    table->marks[index] = mark;
}

/* The end of the current ring's samples: merges what came, drops what went. -ENOMEM: without what came. */
int detector_finish_ring(struct detector *detector);

/* An id stalls or stalls no more: an event, with its cause and its time as observed at credit_ns. */
void detector_emit(struct detector *detector, uint32_t ring, const struct table *table, size_t index,
                   enum detector_event_kind kind, uint64_t credit_ns);

/* An id is gone, with an event if it was stalled; it is not counted any more. */
void detector_forget(struct detector *detector, uint32_t ring, const struct table *table, size_t index);

/* Judges all suspects and changes their marks. */
void detector_settle(struct detector *detector);

struct detector_ring *detector_ring_of(const struct detector *detector, uint32_t serial);

#endif
