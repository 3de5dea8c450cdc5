/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_queue.h - events that wait to be given to somebody who takes a few at a time. Pure.
 *
 * Guarantees
 *   A. At most EVENT_QUEUE_MAX wait. The last EVENT_QUEUE_ENDS places are for ends: in a flood of begins, whoever was
 *      told that a stall began can still be told that it ended.
 *   B. Events leave in the order in which they came, but for those whose episode is being worked on: they wait until it
 *      is not. So an end never overtakes its begin, and one slow taker holds up only its own episode.
 */
#ifndef RIPD_CASES_EVENT_QUEUE_H
#define RIPD_CASES_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"

#define EVENT_QUEUE_MAX 256u
#define EVENT_QUEUE_ENDS 64u

struct event_queue {
    struct event *events[EVENT_QUEUE_MAX]; /* oldest first, a reference each */
    size_t count;
};

/* True: it waits, with a reference of the queue's own. False: there is no place for it. */
bool event_queue_push(struct event_queue *queue, struct event *event);

/* The next that may leave while these episodes are worked on, still in the queue; NULL: none. */
struct event *event_queue_next(const struct event_queue *queue, const uint64_t *busy_episodes, size_t busy_count);

/* Takes it out; its reference is the caller's. */
void event_queue_remove(struct event_queue *queue, const struct event *event);

/* Empties the queue; how many there were. */
size_t event_queue_clear(struct event_queue *queue);

#endif
