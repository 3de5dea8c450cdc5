/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_queue.h - events with copies of all that they point to, between what yields many at once and what takes one,
 * and the data attached to them. Pure but for allocations.
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
    struct event_block *blocks, *block; /* memory of the events; which of it is in use */
    size_t used_bytes;
};

/* An empty queue is all zero. What was taken out of it is valid until it is cleared. */
int event_queue_add(struct event_queue *queue, const struct rip_event *event);
struct queued_event *event_queue_take(struct event_queue *queue); /* NULL: it is empty */
void event_queue_clear(struct event_queue *queue);
void event_queue_done(struct event_queue *queue);

/* event_queue_add() for what yields events. */
struct rip_sink event_queue_sink(struct event_queue *queue);

#endif
