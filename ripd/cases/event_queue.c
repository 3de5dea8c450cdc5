/* SPDX-License-Identifier: Apache-2.0 */
/* event_queue.c - a short array, oldest first. Pure. */
#include "cases/event_queue.h"

#include <string.h>

static struct event_queue_entry remove_at(struct event_queue *queue, size_t i)
{
    const struct event_queue_entry entry = queue->entries[i];

    queue->count--;
    memmove(&queue->entries[i], &queue->entries[i + 1], (queue->count - i) * sizeof(entry));
    return entry;
}

struct event_queue_entry event_queue_take(struct event_queue *queue, const struct event_queue_entry *entry)
{
    const struct event_queue_entry taken = remove_at(queue, (size_t)(entry - queue->entries));

    if (taken.round > queue->round)
        queue->round = taken.round;
    return taken;
}

/*
 * Drops an event of the latest round after `round`; only begins unless of_ends is set. Returns false if there is none.
 */
static bool make_room(struct event_queue *queue, bool of_ends, uint64_t round, uint32_t *ret_user)
{
    size_t last = queue->count;

    for (size_t i = 0; i < queue->count; i++) {
        const struct event_queue_entry *entry = &queue->entries[i];

        if (entry->round > round && (of_ends || entry->event->kind == EVENT_BEGIN)) {
            round = entry->round;
            last = i;
        }
    }
    if (last == queue->count)
        return false;
    *ret_user = queue->entries[last].user;
    event_unref(remove_at(queue, last).event);
    return true;
}

bool event_queue_push(struct event_queue *queue, struct event *event, uint32_t user, uint32_t *ret_user)
{
    const bool end = event->kind == EVENT_END;
    const bool full = queue->count >= (end ? EVENT_QUEUE_MAX : EVENT_QUEUE_MAX - EVENT_QUEUE_ENDS);
    uint64_t round = queue->round;

    for (size_t i = 0; i < queue->count; i++)
        if (queue->entries[i].user == user && queue->entries[i].round > round)
            round = queue->entries[i].round;
    round++;
    if (full)
        *ret_user = user;
    if (!full || make_room(queue, end, round, ret_user) || make_room(queue, true, round, ret_user))
        queue->entries[queue->count++] = (struct event_queue_entry){event_ref(event), user, round};
    return !full;
}

static bool may_leave(const struct event_queue_entry *entry, const struct event_queue_entry *busy, size_t busy_count,
                      size_t user_max)
{
    size_t of_user = 0;

    for (size_t i = 0; i < busy_count; i++) {
        if (busy[i].event->incident == entry->event->incident)
            return false;
        of_user += busy[i].user == entry->user;
    }
    return of_user < user_max;
}

const struct event_queue_entry *event_queue_next(const struct event_queue *queue, const struct event_queue_entry *busy,
                                                 size_t busy_count, size_t user_max)
{
    const struct event_queue_entry *next = NULL;

    for (size_t i = 0; i < queue->count; i++) {
        const struct event_queue_entry *entry = &queue->entries[i];

        if ((next == NULL || entry->round < next->round) && may_leave(entry, busy, busy_count, user_max))
            next = entry;
    }
    return next;
}

size_t event_queue_clear(struct event_queue *queue)
{
    const size_t count = queue->count;

    for (size_t i = 0; i < count; i++)
        event_unref(queue->entries[i].event);
    queue->count = 0;
    return count;
}
