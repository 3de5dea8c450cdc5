/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_make.h - makes the events of the begin and the end of an episode from its case. Pure.
 *
 * ripd during a scan, and a replay of its recording, make the same events from the same decisions here: number, times,
 * threshold, cause and incident come from the case.
 */
#ifndef RIPD_VIEW_EVENT_MAKE_H
#define RIPD_VIEW_EVENT_MAKE_H

#include "cases/case.h"
#include "cases/event.h"
#include "cases/snapshot.h"

/*
 * Returns the case at a moment; times and waits come from that snapshot. Item and kernel facts are borrowed: no
 * reference is taken.
 */
struct sighting sighting_of_case(const struct stall_case *stall, const struct snapshot *moment);

struct event_label {
    uint64_t sequence;
    bool reported;
};

/*
 * Makes the begin of an episode, as of the scan on which it began; scan is the present one. The id, its location and
 * what it waits for come from the case. If seen is not NULL, it is a begin of the same standstill, and they are copied
 * from it word for word. Returns NULL if out of memory.
 */
struct event *event_make_begin(const struct stall_case *stall, const struct snapshot *scan, struct event_label label,
                               const struct event *seen);

/* Makes the end of an episode whose begin is known. Returns NULL if out of memory. */
struct event *event_make_end(const struct episode *episode, const struct snapshot *scan, struct event_label label);

/* The end of an episode that has no case. */
struct event_ending {
    uint64_t at_wall_ns;
    uint64_t lasted_ns;
    uint64_t lasted_max_ns; /* EVENT_UNKNOWN_NS if not known */
    enum id_cause cause;
    enum event_reason reason;
    uint32_t stall_count;
};
struct event *event_make_ending(const struct event *begin, const struct event_ending *ending, struct event_label label);

/* Returns the longest that the stall may have lasted, if it was first seen frozen lasted_ns before its end. */
uint64_t event_lasted_max_ns(const struct event *begin, uint64_t lasted_ns);

#endif
