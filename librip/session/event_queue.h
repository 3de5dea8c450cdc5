/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_queue.h - a queue between a source, which yields many events at once, and a session, which takes them one by
 * one. It holds copies of all that the events point to, and the data attached to them. Pure, except that it allocates.
 */
#ifndef RIP_SESSION_EVENT_QUEUE_H
#define RIP_SESSION_EVENT_QUEUE_H

#include "session/attachment.h"
#include "session/sink.h"

struct queued_event {
    struct rip_event event;
    struct attachment *attachments;
    struct queued_event *next;
};

struct event_block;
struct event_queue {
    struct queued_event *first, *last;
    struct event_block *blocks, *block; /* memory of the events: all blocks, and the one in use */
    size_t used_bytes;                  /* of the block in use */
};

/* Appends a copy. An empty queue is all zero. Returns 0 or -ENOMEM. */
int event_queue_add(struct event_queue *queue, const struct rip_event *event);

/*
 * Removes the first event. Returns NULL if there is none. The event is valid until the queue is cleared, but the caller
 * clears its attachments.
 */
struct queued_event *event_queue_take(struct event_queue *queue);

/* Removes all events and keeps the memory for the next ones. */
void event_queue_clear(struct event_queue *queue);
void event_queue_done(struct event_queue *queue);

/* Returns a sink that calls event_queue_add(). */
struct rip_sink event_queue_sink(struct event_queue *queue);

#endif
