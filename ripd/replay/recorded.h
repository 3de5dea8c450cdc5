/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.h - what a recording of ripd's says of each standstill: the events it published, and its verdicts. Pure. */
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

struct recorded_event {
    struct standstill at;
    uint64_t order;
    struct event *event;
    bool used;
};

struct recorded_verdict {
    struct standstill at;
    uint64_t order; /* of the scan */
    struct verdict verdict;
};

/* All zero = nothing. */
struct recorded {
    struct recorded_event *events;
    size_t event_count;
    size_t event_capacity;
    size_t bytes; /* of both */
    struct recorded_verdict *verdicts;
    size_t verdict_count;
    size_t verdict_capacity;
};

void recorded_done(struct recorded *recorded);

/* Takes over the event's reference, also on failure. 0 or -ENOMEM. */
int recorded_add_event(struct recorded *recorded, struct standstill at, struct event *event);
int recorded_add_verdict(struct recorded *recorded, struct standstill at, uint64_t scan, struct verdict verdict);

/* After the last one was added. */
void recorded_sort(struct recorded *recorded);

/* The event of that kind and episode of an id. NULL: none. */
struct recorded_event *recorded_event_of(const struct recorded *recorded, struct standstill at, enum event_kind kind,
                                         uint64_t episode);
/* The begin of an episode at that standstill. NULL: none. */
struct recorded_event *recorded_begin_at(const struct recorded *recorded, struct standstill at);

/* The verdict on that standstill as of a scan; the first one, if that came later. False: there is none. */
bool recorded_verdict_at(const struct recorded *recorded, struct standstill at, uint64_t scan,
                         struct verdict *ret_verdict);

#endif
