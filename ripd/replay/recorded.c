/* SPDX-License-Identifier: Apache-2.0 */
/* recorded.c - a sorted array. Pure. See recorded.h. */
#include "replay/recorded.h"

#include <errno.h>
#include <stdlib.h>

#include "util/array.h"
#include "util/search.h"

void recorded_done(struct recorded *recorded)
{
    for (size_t i = 0; i < recorded->count; i++)
        event_unref(recorded->entries[i].event);
    free(recorded->entries);
    *recorded = (struct recorded){.bytes = 0};
}

int recorded_add(struct recorded *recorded, struct recorded_entry entry)
{
    if (!ARRAY_GROW(recorded->entries, recorded->count, recorded->capacity)) {
        event_unref(entry.event);
        return -ENOMEM;
    }
    recorded->bytes += sizeof(entry) + (entry.event != NULL ? entry.event->text_bytes : 0);
    recorded->entries[recorded->count++] = entry;
    return 0;
}

/* Of one id the events come first, as they were added, then the verdicts by progress. */
static int compare_kinds(const struct recorded_entry *a, const struct recorded_entry *b)
{
    const bool is_verdict = a->event == NULL;

    return search_order_then(
        search_order_then(search_order_pair(a->at.run, a->at.ring, b->at.run, b->at.ring),
                          search_order_pair(a->at.slot, a->at.generation, b->at.slot, b->at.generation)),
        search_order_pair(is_verdict, is_verdict ? a->at.progress : 0, b->event == NULL,
                          is_verdict ? b->at.progress : 0));
}

static int compare_entries(const void *left, const void *right)
{
    const struct recorded_entry *a = left, *b = right;

    return search_order_then(compare_kinds(a, b), search_order(a->order, b->order));
}

/* For search_first(). */
static int compare_key(const void *key, const void *item)
{
    return compare_kinds(key, item);
}

void recorded_sort(struct recorded *recorded)
{
    if (recorded->count != 0)
        qsort(recorded->entries, recorded->count, sizeof(*recorded->entries), compare_entries);
}

/* The first entry that is like the key, but for its order; *ret_end is behind the last one. */
static struct recorded_entry *find(const struct recorded *recorded, const struct recorded_entry *key,
                                   struct recorded_entry **ret_end)
{
    const size_t bytes = sizeof(*recorded->entries);
    size_t first;

    *ret_end = NULL;
    if (recorded->count == 0) /* there are no entries to be an offset from */
        return NULL;
    first = search_first(key, recorded->entries, recorded->count, bytes, compare_key);
    *ret_end = recorded->entries + search_after(key, recorded->entries, recorded->count, bytes, compare_key);
    return recorded->entries + first;
}

struct recorded_entry *recorded_event(const struct recorded *recorded, struct standstill at, enum event_kind kind,
                                      uint64_t episode)
{
    static struct event any;
    struct recorded_entry *end, *entry = find(recorded, &(struct recorded_entry){.at = at, .event = &any}, &end);

    for (; entry < end; entry++)
        if (entry->event->kind == kind &&
            (episode != 0 ? entry->event->episode == episode : entry->at.progress == at.progress))
            return entry;
    return NULL;
}

bool recorded_verdict(const struct recorded *recorded, struct standstill at, uint64_t scan, struct verdict *ret_verdict)
{
    struct recorded_entry *end, *entry = find(recorded, &(struct recorded_entry){.at = at}, &end);

    if (entry == end)
        return false;
    while (entry + 1 < end && entry[1].order <= scan)
        entry++;
    *ret_verdict = entry->verdict;
    return true;
}
