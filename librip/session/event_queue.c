/* SPDX-License-Identifier: Apache-2.0 */
/* event_queue.c - see event_queue.h. */
#include "session/event_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)1 << 18)
#define ALIGNMENT _Alignof(max_align_t)

/* Memory: blocks are filled one after the other, and reused -------------------------------------------------------- */

struct event_block {
    struct event_block *next;
    size_t size_bytes;
    _Alignas(max_align_t) unsigned char bytes[];
};

static struct event_block *new_block(size_t least_bytes)
{
    const size_t size_bytes = least_bytes > BLOCK_BYTES ? least_bytes : BLOCK_BYTES;
    struct event_block *block = malloc(sizeof(*block) + size_bytes);

    if (block != NULL)
        *block = (struct event_block){.size_bytes = size_bytes};
    return block;
}

static void *allocate(struct event_queue *queue, size_t bytes)
{
    const size_t count = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;

    while (queue->block == NULL || queue->block->size_bytes - queue->used_bytes < count) {
        struct event_block **next = queue->block != NULL ? &queue->block->next : &queue->blocks;

        if (*next == NULL)
            *next = new_block(count);
        if (*next == NULL)
            return NULL;
        queue->block = *next;
        queue->used_bytes = 0;
    }
    queue->used_bytes += count;
    return queue->block->bytes + queue->used_bytes - count;
}

/* Events ----------------------------------------------------------------------------------------------------------- */

/* Returns a copy, or NULL if out of memory. A copy of 0 bytes is not NULL. */
static const void *keep(struct event_queue *queue, const void *bytes, size_t count)
{
    static const max_align_t nothing;
    void *copy = count != 0 ? allocate(queue, count) : NULL;

    if (count == 0)
        return &nothing;
    return copy != NULL ? memcpy(copy, bytes, count) : NULL;
}

/* Replaces the pointer by one to a copy that the queue owns. False if out of memory. */
#define KEEP(queue, bytes, count) (((bytes) = keep((queue), (bytes), (count))) != NULL)

static bool keep_text(struct event_queue *queue, struct rip_text *text)
{
    return KEEP(queue, text->bytes, text->count);
}

static bool keep_all(struct event_queue *queue, struct rip_event *event)
{
    switch (event->kind) {
    case RIP_EVENT_RING:
        return keep_text(queue, &event->as.ring_begin.name) && keep_text(queue, &event->as.ring_begin.directory);
    case RIP_EVENT_RING_END:
        return keep_text(queue, &event->as.ring_end.reason);
    case RIP_EVENT_PROCESS:
        return KEEP(queue, event->as.process_begin, sizeof(*event->as.process_begin));
    case RIP_EVENT_MODULE:
        return KEEP(queue, event->as.module.info, sizeof(*event->as.module.info));
    case RIP_EVENT_REGISTER:
    case RIP_EVENT_STATE:
        return KEEP(queue, event->as.state.info, sizeof(*event->as.state.info));
    case RIP_EVENT_SNAP:
        return KEEP(queue, event->as.snap.entries, event->as.snap.entry_count * sizeof(*event->as.snap.entries));
    case RIP_EVENT_NOTE:
        return KEEP(queue, event->as.note, sizeof(*event->as.note));
    case RIP_EVENT_SCRIPT:
        return KEEP(queue, event->as.script, sizeof(*event->as.script));
    case RIP_EVENT_STALL_BEGIN:
    case RIP_EVENT_STALL_END:
        return keep_text(queue, &event->as.stall.json);
    default:
        return true;
    }
}

int event_queue_add(struct event_queue *queue, const struct rip_event *event)
{
    struct queued_event *queued = allocate(queue, sizeof(*queued));

    if (queued == NULL)
        return -ENOMEM;
    *queued = (struct queued_event){.event = *event};
    if (!keep_all(queue, &queued->event))
        return -ENOMEM;
    if (queue->first == NULL)
        queue->first = queued;
    else
        queue->last->next = queued;
    queue->last = queued;
    return 0;
}

struct queued_event *event_queue_take(struct event_queue *queue)
{
    struct queued_event *queued = queue->first;

    if (queued != NULL)
        queue->first = queued->next;
    return queued;
}

void event_queue_clear(struct event_queue *queue)
{
    for (; queue->first != NULL; queue->first = queue->first->next)
        attachment_clear(&queue->first->attachments);
    queue->last = NULL;
    queue->block = NULL;
    queue->used_bytes = 0;
}

void event_queue_done(struct event_queue *queue)
{
    event_queue_clear(queue);
    while (queue->blocks != NULL) {
        struct event_block *next = queue->blocks->next;

        free(queue->blocks);
        queue->blocks = next;
    }
}

static int take_event(void *context, const struct rip_event *event)
{
    return event_queue_add(context, event);
}

struct rip_sink event_queue_sink(struct event_queue *queue)
{
    return (struct rip_sink){queue, take_event};
}
