/* SPDX-License-Identifier: Apache-2.0 */
/* event_queue.c - a short array, oldest first. Pure. */
#include "cases/event_queue.h"

#include <string.h>

bool event_queue_push(struct event_queue *queue, struct event *event)
{
    size_t places = event->kind == EVENT_END ? EVENT_QUEUE_MAX : EVENT_QUEUE_MAX - EVENT_QUEUE_ENDS;

    if (queue->count >= places)
        return false;
    queue->events[queue->count++] = event_ref(event);
    return true;
}

static bool is_busy(uint64_t episode, const uint64_t *busy_episodes, size_t busy_count)
{
    for (size_t i = 0; i < busy_count; i++)
        if (busy_episodes[i] == episode)
            return true;
    return false;
}

struct event *event_queue_next(const struct event_queue *queue, const uint64_t *busy_episodes, size_t busy_count)
{
    for (size_t i = 0; i < queue->count; i++)
        if (!is_busy(queue->events[i]->episode, busy_episodes, busy_count))
            return queue->events[i];
    return NULL;
}

void event_queue_remove(struct event_queue *queue, const struct event *event)
{
    for (size_t i = 0; i < queue->count; i++)
        if (queue->events[i] == event) {
            queue->count--;
            memmove(&queue->events[i], &queue->events[i + 1], (queue->count - i) * sizeof(struct event *));
            return;
        }
}

size_t event_queue_clear(struct event_queue *queue)
{
    size_t count = queue->count;

    for (size_t i = 0; i < count; i++)
        event_unref(queue->events[i]);
    queue->count = 0;
    return count;
}
