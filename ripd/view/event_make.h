/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_make.h - the begin and the end of an episode as events, from its case. Pure.
 *
 * ripd as it scans and a replay of what it recorded make the same events of the same decisions here: number, times,
 * threshold, cause and incident are those of the case.
 */
#ifndef RIPD_VIEW_EVENT_MAKE_H
#define RIPD_VIEW_EVENT_MAKE_H

#include "cases/case.h"
#include "cases/event.h"
#include "cases/snapshot.h"

/* What a case is at a moment: of the snapshot, times and waits are read. References of the item and the kernel's facts
 * are not taken. */
struct sighting sighting_of_case(const struct stall_case *stall, const struct snapshot *moment);

struct event_label {
    uint64_t sequence;
    bool reported;
};

/*
 * The begin of an episode, as of the scan on which it began; scan is the present one. Who it is, where it stands and
 * what it waits for is of the case; or, if seen is not NULL, as that begin of the same standstill has it, word for
 * word. NULL: no memory.
 */
struct event *event_make_begin(const struct stall_case *stall, const struct snapshot *scan, struct event_label label,
                               const struct event *seen);

/* The end of an episode whose begin is known. NULL: no memory. */
struct event *event_make_end(const struct episode *episode, const struct snapshot *scan, struct event_label label);

/* An end that is no case's. */
struct event_ending {
    uint64_t at_wall_ns;
    uint64_t lasted_ns;
    uint64_t lasted_max_ns; /* EVENT_UNKNOWN_NS = not known */
    enum id_cause cause;
    enum event_reason reason;
    uint32_t stall_count;
};
struct event *event_make_ending(const struct event *begin, const struct event_ending *ending, struct event_label label);

/* The longest that it may have lasted, if it was first seen frozen lasted_ns before its end. */
uint64_t event_lasted_max_ns(const struct event *begin, uint64_t lasted_ns);

#endif
