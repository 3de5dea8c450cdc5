/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_queue.h - events that wait to be given to a command, a few at a time. Pure.
 *
 * Each event gets a round: the n-th waiting event of a user leaves in the n-th round from now, and of a full queue the
 * event of the latest round gives way. So users take turns, and who has most waiting loses first.
 *
 * Guarantees
 *   A. At most EVENT_QUEUE_MAX events wait. The last EVENT_QUEUE_ENDS places are for ends: when begins flood the queue,
 *      the end of a stall whose begin was given is still given.
 *   B. The events of one user leave in the order in which they came; an end never overtakes its begin. An event whose
 *      incident is being worked on waits without holding up others.
 *   C. An event of a user with fewer waiting than another one is never refused, and leaves after at most one event of
 *      each other user per event of its own user before it.
 */
#ifndef RIPD_CASES_EVENT_QUEUE_H
#define RIPD_CASES_EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"

#define EVENT_QUEUE_MAX 256u
#define EVENT_QUEUE_ENDS 64u

struct event_queue_entry {
    struct event *event; /* a reference */
    uint32_t user;       /* the same for a begin and its end */
    uint64_t round;
};

struct event_queue {
    struct event_queue_entry entries[EVENT_QUEUE_MAX]; /* oldest first */
    size_t count;
    uint64_t round; /* the latest one of which an event has left */
};

/* Takes a reference of its own. False: the queue was full, and this event or another one is dropped: *ret_user's. */
bool event_queue_push(struct event_queue *queue, struct event *event, uint32_t user, uint32_t *ret_user);

/*
 * The next event that may leave, still in the queue: none of an incident in busy, none of a user who is there user_max
 * times. NULL: none.
 */
const struct event_queue_entry *event_queue_next(const struct event_queue *queue, const struct event_queue_entry *busy,
                                                 size_t busy_count, size_t user_max);

/* Removes what event_queue_next() returned; its reference is the caller's. */
struct event_queue_entry event_queue_take(struct event_queue *queue, const struct event_queue_entry *entry);

/* Empties the queue; how many there were. */
size_t event_queue_clear(struct event_queue *queue);

#endif
