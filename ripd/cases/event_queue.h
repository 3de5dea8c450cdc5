/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_queue.h - events that wait to be passed to a command, a few at a time. Pure.
 *
 * Each event gets a round: the n-th waiting event of a user leaves in the n-th round from now. If the queue is full,
 * the event of the latest round is dropped. So users take turns, and the user with most waiting events loses first.
 *
 * Guarantees
 *   A. At most EVENT_QUEUE_MAX events wait. The last EVENT_QUEUE_ENDS places are reserved for ends: if begins flood the
 *      queue, the end of a stall whose begin was delivered is still delivered.
 *   B. The events of one user leave in order of arrival, and an end never overtakes its begin. An event whose incident
 *      is being processed waits, and does not delay others.
 *   C. An event of a user with fewer waiting events than another user is never refused. It leaves after at most one
 *      event of each other user for each earlier event of its own user.
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
    uint64_t round; /* latest round of which an event has left */
};

/*
 * Takes a reference of its own. Returns false if the queue was full: then this event or another one is dropped, and
 * *ret_user is the user of the dropped event.
 */
bool event_queue_push(struct event_queue *queue, struct event *event, uint32_t user, uint32_t *ret_user);

/*
 * Returns the next event that may leave, or NULL. It stays in the queue. Skips events whose incident is in busy, and
 * events of users with user_max entries in busy.
 */
const struct event_queue_entry *event_queue_next(const struct event_queue *queue, const struct event_queue_entry *busy,
                                                 size_t busy_count, size_t user_max);

/* Removes what event_queue_next() returned. The caller gets its reference. */
struct event_queue_entry event_queue_take(struct event_queue *queue, const struct event_queue_entry *entry);

/* Empties the queue. Returns how many events it had. */
size_t event_queue_clear(struct event_queue *queue);

#endif
