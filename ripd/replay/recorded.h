/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.h - the events and verdicts of ripd in a recording, by standstill. Pure. */
#ifndef RIPD_REPLAY_RECORDED_H
#define RIPD_REPLAY_RECORDED_H

#include "cases/event.h"
#include "detect/detector.h"

/* An id, and the progress at which it stands. */
struct standstill {
    uint32_t run; /* of ripd, in this recording */
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint64_t progress;
};

struct recorded_entry {
    struct standstill at;
    uint64_t order;      /* ascends: of a verdict its scan */
    struct event *event; /* a reference; NULL: it is a verdict */
    struct verdict verdict;
    bool used; /* the caller's */
};

/* All zero = nothing. */
struct recorded {
    struct recorded_entry *entries;
    size_t count;
    size_t capacity;
    size_t bytes; /* of all */
};

void recorded_done(struct recorded *recorded);

/* Takes over the event's reference, also on failure. 0 or -ENOMEM. */
int recorded_add(struct recorded *recorded, struct recorded_entry entry);

/* After the last one was added. */
void recorded_sort(struct recorded *recorded);

/* The event of that kind and episode of an id; episode 0: the one at that standstill. NULL: none. */
struct recorded_entry *recorded_event(const struct recorded *recorded, struct standstill at, enum event_kind kind,
                                      uint64_t episode);

/* The verdict on that standstill as of a scan; the first one, if that came later. False: there is none. */
bool recorded_verdict(const struct recorded *recorded, struct standstill at, uint64_t scan,
                      struct verdict *ret_verdict);

#endif
