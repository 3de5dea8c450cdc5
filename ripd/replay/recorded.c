/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.c - two sorted arrays. Pure. See recorded.h. */
#include "replay/recorded.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/search.h"

void recorded_done(struct recorded *recorded)
{
    for (size_t i = 0; i < recorded->event_count; i++)
        event_unref(recorded->events[i].event);
    free(recorded->events);
    free(recorded->verdicts);
    *recorded = (struct recorded){.bytes = 0};
}

static int compare_ids(const struct standstill *a, const struct standstill *b)
{
    return search_order_then(search_order_pair(a->run, a->ring, b->run, b->ring),
                             search_order_pair(a->slot, a->generation, b->slot, b->generation));
}

static int compare_events(const void *left, const void *right)
{
    const struct recorded_event *a = left, *b = right;

    return search_order_then(compare_ids(&a->at, &b->at), search_order(a->order, b->order));
}

static int compare_verdicts(const void *left, const void *right)
{
    const struct recorded_verdict *a = left, *b = right;

    return search_order_then(compare_ids(&a->at, &b->at),
                             search_order_pair(a->at.progress, a->order, b->at.progress, b->order));
}

int recorded_add_event(struct recorded *recorded, struct standstill at, struct event *event)
{
    if (!ARRAY_GROW(recorded->events, recorded->event_count, recorded->event_capacity)) {
        event_unref(event);
        return -ENOMEM;
    }
    recorded->bytes += event->text_bytes + sizeof(*recorded->events);
    recorded->events[recorded->event_count] =
        (struct recorded_event){.at = at, .order = recorded->event_count, .event = event};
    recorded->event_count++;
    return 0;
}

int recorded_add_verdict(struct recorded *recorded, struct standstill at, uint64_t scan, struct verdict verdict)
{
    if (!ARRAY_GROW(recorded->verdicts, recorded->verdict_count, recorded->verdict_capacity))
        return -ENOMEM;
    recorded->bytes += sizeof(*recorded->verdicts);
    recorded->verdicts[recorded->verdict_count++] =
        (struct recorded_verdict){.at = at, .order = scan, .verdict = verdict};
    return 0;
}

void recorded_sort(struct recorded *recorded)
{
    if (recorded->event_count != 0)
        qsort(recorded->events, recorded->event_count, sizeof(*recorded->events), compare_events);
    if (recorded->verdict_count != 0)
        qsort(recorded->verdicts, recorded->verdict_count, sizeof(*recorded->verdicts), compare_verdicts);
}

static int compare_event_id(const void *key, const void *item)
{
    return compare_ids(key, &((const struct recorded_event *)item)->at);
}

/* The first event of an id. */
static struct recorded_event *events_of(const struct recorded *recorded, const struct standstill *at)
{
    return recorded->events +
           search_first(at, recorded->events, recorded->event_count, sizeof(*recorded->events), compare_event_id);
}

static bool is_of(const struct recorded *recorded, const struct recorded_event *event, const struct standstill *at)
{
    return event < recorded->events + recorded->event_count && compare_ids(&event->at, at) == 0;
}

struct recorded_event *recorded_event_of(const struct recorded *recorded, struct standstill at, enum event_kind kind,
                                         uint64_t episode)
{
    if (recorded->event_count == 0)
        return NULL;
    for (struct recorded_event *event = events_of(recorded, &at); is_of(recorded, event, &at); event++)
        if (event->event->kind == kind && event->event->episode == episode)
            return event;
    return NULL;
}

struct recorded_event *recorded_begin_at(const struct recorded *recorded, struct standstill at)
{
    if (recorded->event_count == 0)
        return NULL;
    for (struct recorded_event *event = events_of(recorded, &at); is_of(recorded, event, &at); event++)
        if (event->event->kind == EVENT_BEGIN && event->at.progress == at.progress)
            return event;
    return NULL;
}

static int compare_standstill(const void *key, const void *item)
{
    const struct standstill *a = key, *b = &((const struct recorded_verdict *)item)->at;

    return search_order_then(compare_ids(a, b), search_order(a->progress, b->progress));
}

bool recorded_verdict_at(const struct recorded *recorded, struct standstill at, uint64_t scan,
                         struct verdict *ret_verdict)
{
    const size_t count = recorded->verdict_count;
    size_t i = search_equal(&at, recorded->verdicts, count, sizeof(*recorded->verdicts), compare_standstill);

    if (i == count)
        return false;
    while (i + 1 < count && compare_standstill(&at, &recorded->verdicts[i + 1]) == 0 &&
           recorded->verdicts[i + 1].order <= scan)
        i++;
    *ret_verdict = recorded->verdicts[i].verdict;
    return true;
}
