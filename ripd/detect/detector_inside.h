/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector_inside.h - what the parts of the detector share; for detector*.c alone.
 *
 *   detector.c          the course of a scan: begin, rings, end, next due
 *   detector_feed.c     samples against the table: who moved, came, went
 *   detector_rules.c    thresholds: who is due, whose rule is not known, who is excused
 *   detector_adopt.c    stalls from before the daemon was started again
 *   detector_settle.c   suspects into states, and the events of that
 *   detector_view.c     what is known, for others
 */
#ifndef RIPD_DETECT_DETECTOR_INSIDE_H
#define RIPD_DETECT_DETECTOR_INSIDE_H

#include "detect/detector.h"
#include "detect/history.h"
#include "detect/table.h"

#define DETECTOR_NO_STAMP HISTORY_STAMP_MAX /* no scan ever has it */

_Static_assert(HISTORY_STAMP_MAX == UINT32_MAX >> MARK_STAMP_SHIFT, "a stamp does not fit a mark");

/* A threshold, and the ids it applies to. */
struct detector_level {
    uint64_t threshold_ns;
    uint32_t due_count;    /* stamps below this one have been frozen for the threshold */
    uint32_t oldest_stamp; /* of its ids that run and are not due yet; DETECTOR_NO_STAMP = there is none, or not told */
};

/* By the byte in the table's column: no rule, each rule, pending. That of the pending is the shortest of all. */
#define DETECTOR_LEVEL_COUNT (TABLE_RULE_PENDING + 1u)

struct detector_ring {
    uint32_t serial;
    bool seen;             /* on this scan */
    bool skipped;          /* on the last one */
    uint64_t read_mono_ns; /* when it was read last */
    uint64_t read_credit_ns;
    struct table table;
};

struct detector {
    struct detector_config config;
    uint64_t gap_interval_ns; /* the interval by which the gap to the next scan is judged: it is from before a change */

    /* the clock */
    struct history history;
    uint64_t now_mono_ns;
    uint64_t credit_ns;          /* the detector's own clock: gaps, of which at most one interval each counts */
    uint64_t previous_credit_ns; /* the same on the scan before */
    bool started;
    bool late;
    uint64_t late_count;

    /* this scan */
    uint32_t scan_stamp; /* of this scan */
    uint32_t stamp;      /* of this scan and the present ring: one that was skipped has had an earlier scan before */
    struct detector_level levels[DETECTOR_LEVEL_COUNT];
    bool held_back; /* an id would have been a suspect, had the scan not been late */

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

    struct detector_newcomer *newcomers;
    size_t newcomer_count;
    size_t newcomer_capacity;
    uint64_t unnamed_count;
    bool undecided; /* an id whose rule is not known is among the suspects */

    /* Those that wait for the first scan, then what became of them, until the second. Ascending by ring and slot. */
    struct detector_adoption *adoptions;
    uint32_t *adoption_stamps;
    size_t adoption_count;
    bool adopting; /* this is the first scan */

    struct detector_suspect *suspects;
    size_t suspect_count;
    size_t suspect_capacity;

    /* There is room for an event for every stalled id and every adoption, always: no end of a stall is ever lost. */
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

/* An id of that level runs and is not due: it will be when its level's threshold has passed since its stamp. */
static inline void detector_expect(struct detector *detector, uint8_t rule, uint32_t stamp)
{
    struct detector_level *level = &detector->levels[rule];

    if (stamp < level->oldest_stamp)
        level->oldest_stamp = stamp;
}

static inline uint64_t detector_frozen_max_ns(const struct detector *detector, uint32_t mark)
{
    if (mark & MARK_NEVER_MOVED)
        return DETECTOR_UNKNOWN_NS;
    return detector->now_mono_ns - detector->history.scans[mark_stamp(mark)].previous_mono_ns;
}

/* Room for one event of each stalled id, each adoption, and one more stall. */
bool detector_reserve_events(struct detector *detector);

/* Thresholds by level from the configuration. */
void detector_set_levels(struct detector *detector);

/* At the beginning of a scan: who is due on it. */
void detector_begin_levels(struct detector *detector);

/* As views and suspects show it. */
static inline uint64_t detector_threshold_ns(const struct detector *detector, uint8_t rule)
{
    return rule == TABLE_RULE_PENDING ? DETECTOR_UNKNOWN_NS : detector->levels[rule].threshold_ns;
}

/* The level an id has until its rule is known. */
static inline uint8_t detector_first_rule(const struct detector *detector)
{
    return detector->config.rule_count ? TABLE_RULE_PENDING : TABLE_RULE_NONE;
}

/* Offers an id to the caller for its rule. Without memory it is offered on the next scan. */
void detector_offer(struct detector *detector, uint32_t slot, uint32_t generation);

/* A stalled id is not beyond its threshold any more: it runs, and stands still since when it did. */
void detector_excuse(struct detector *detector, uint32_t ring, struct table *table, size_t index);

/* Takes the caller's answers about newcomers, and drops suspects that are not beyond the thresholds they got. */
void detector_take_rules(struct detector *detector);

/* On the first scan, before its stamp is made: stamps for the adoptions, which are earlier. */
void detector_stamp_adoptions(struct detector *detector);

/* Of a sample on the first scan, if a stall of that id can be adopted: its mark, stalled. 0 otherwise. */
uint32_t detector_adopted_mark(struct detector *detector, const struct rip_sample *sample, enum id_state state);

/* At the end of the first scan: events of the adoptions that came to nothing. */
void detector_settle_adoptions(struct detector *detector);

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
