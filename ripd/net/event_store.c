/* SPDX-License-Identifier: Apache-2.0 */
/* event_store.c - references in an array; where it ends they are moved to its beginning. Pure. */
#include "net/event_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/search.h"

#define PLACES (2 * (size_t)EVENT_STORE_COUNT_MAX)

static size_t event_bytes(const struct event *event)
{
    return sizeof(*event) + event->text_bytes + 1;
}

struct event *event_store_at(const struct event_store *store, size_t i)
{
    return store->places[store->first + i];
}

static void drop_oldest(struct event_store *store)
{
    struct event *event = event_store_at(store, 0);

    store->first++;
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
    if (store->places == NULL) /* 160 KB, of which only what is used takes memory */
        store->places = calloc(PLACES, sizeof(struct event *));
    if (store->places == NULL) {
        event_unref(event);
        return -ENOMEM;
    }
    if (store->first + store->count == PLACES) {
        memmove(store->places, store->places + store->first, store->count * sizeof(struct event *));
        store->first = 0;
    }
    store->places[store->first + store->count++] = event;
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
    if (store->count == 0)
        return 0;
    return search_first(&sequence, store->places + store->first, store->count, sizeof(*store->places),
                        compare_sequence);
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
