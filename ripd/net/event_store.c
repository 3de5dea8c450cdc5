/* SPDX-License-Identifier: Apache-2.0 */
/* event_store.c - a ring of references that grows up to its limit, and from there on turns. Pure. */
#include "net/event_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/search.h"

static size_t event_bytes(const struct event *event)
{
    return sizeof(*event) + event->text_bytes + 1;
}

struct event *event_store_at(const struct event_store *store, size_t i)
{
    return store->places[(store->first + i) % EVENT_STORE_COUNT_MAX];
}

static void drop_oldest(struct event_store *store)
{
    struct event *event = event_store_at(store, 0);

    store->first = (store->first + 1) % EVENT_STORE_COUNT_MAX;
    store->count--;
    store->bytes -= event_bytes(event);
    event_unref(event);
}

int event_store_add(struct event_store *store, struct event *event)
{
    size_t bytes = event_bytes(event);

    if (event->sequence <= store->newest_sequence) {
        event_unref(event);
        return -EEXIST;
    }
    while (store->count != 0 && (store->count == EVENT_STORE_COUNT_MAX || store->bytes + bytes > EVENT_STORE_BYTES_MAX))
        drop_oldest(store);
    if (store->places == NULL) /* 80 KB, of which only what is used takes memory */
        store->places = calloc(EVENT_STORE_COUNT_MAX, sizeof(struct event *));
    if (store->places == NULL) {
        event_unref(event);
        return -ENOMEM;
    }
    store->places[(store->first + store->count) % EVENT_STORE_COUNT_MAX] = event;
    store->count++;
    store->bytes += bytes;
    store->newest_sequence = event->sequence;
    return 0;
}

static int compare_sequence(const void *key, const void *item)
{
    return search_order(*(const uint64_t *)key, (*(struct event *const *)item)->sequence);
}

size_t event_store_find(const struct event_store *store, uint64_t sequence)
{
    const size_t until_end = EVENT_STORE_COUNT_MAX - store->first;
    const size_t before = store->count < until_end ? store->count : until_end; /* the rest is at the array's start */
    size_t i;

    if (store->count == 0)
        return 0;
    i = search_first(&sequence, store->places + store->first, before, sizeof(*store->places), compare_sequence);

    if (i == before)
        i += search_first(&sequence, store->places, store->count - before, sizeof(*store->places), compare_sequence);
    return i;
}

uint64_t event_store_oldest(const struct event_store *store)
{
    return store->count == 0 ? store->newest_sequence + 1 : event_store_at(store, 0)->sequence;
}

void event_store_move(struct event_store *store, struct event_store *from)
{
    for (size_t i = 0; i < from->count; i++)
        event_store_add(store, event_store_at(from, i));
    from->count = 0;
    event_store_done(from);
}

void event_store_done(struct event_store *store)
{
    while (store->count != 0)
        drop_oldest(store);
    free(store->places);
    memset(store, 0, sizeof(*store));
}
