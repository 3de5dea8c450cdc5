/* SPDX-License-Identifier: Apache-2.0 */
/* event_store.c - an array of references, and the bytes that each user has in it. Pure. */
#include "net/event_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/search.h"

static size_t event_bytes(const struct event *event)
{
    return sizeof(*event) + event->text_bytes + 1;
}

struct event *event_store_at(const struct event_store *store, size_t i)
{
    return store->places[i].event;
}

static int compare_user(const void *key, const void *item)
{
    return search_order(*(const uint32_t *)key, ((const struct event_store_user *)item)->uid);
}

/* Returns the index of the user, or where it must be inserted. */
static size_t find_user(const struct event_store *store, uint32_t uid)
{
    return search_first(&uid, store->users, store->user_count, sizeof(*store->users), compare_user);
}

static void drop(struct event_store *store, size_t i)
{
    const struct event_store_place place = store->places[i];
    const size_t bytes = event_bytes(place.event);
    const size_t user = find_user(store, place.uid);

    ARRAY_CLOSE(store->places, store->count, i);
    store->bytes -= bytes;
    store->users[user].bytes -= bytes;
    if (store->users[user].bytes == 0)
        ARRAY_CLOSE(store->users, store->user_count, user);
    event_unref(place.event);
}

static void make_room(struct event_store *store)
{
    const struct event_store_user *largest = store->users;
    size_t i = 0;

    for (size_t user = 1; user < store->user_count; user++)
        if (store->users[user].bytes > largest->bytes)
            largest = &store->users[user];
    while (store->places[i].uid != largest->uid)
        i++;
    drop(store, i);
}

int event_store_add(struct event_store *store, struct event *event)
{
    const size_t bytes = event_bytes(event);
    size_t user;

    if (event->sequence <= store->newest_sequence) {
        event_unref(event);
        return -EEXIST;
    }
    if (!ARRAY_GROW(store->places, store->count, store->capacity) ||
        !ARRAY_GROW(store->users, store->user_count, store->user_capacity)) {
        event_unref(event);
        return -ENOMEM;
    }
    while (store->count != 0 && (store->count == EVENT_STORE_COUNT_MAX || store->bytes + bytes > EVENT_STORE_BYTES_MAX))
        make_room(store);
    user = find_user(store, event->uid);
    if (user == store->user_count || store->users[user].uid != event->uid) {
        ARRAY_OPEN(store->users, store->user_count, user);
        store->users[user] = (struct event_store_user){.uid = event->uid};
    }
    store->users[user].bytes += bytes;
    store->bytes += bytes;
    store->places[store->count++] = (struct event_store_place){.event = event, .uid = event->uid};
    store->newest_sequence = event->sequence;
    return 0;
}

static int compare_sequence(const void *key, const void *item)
{
    return search_order(*(const uint64_t *)key, ((const struct event_store_place *)item)->event->sequence);
}

size_t event_store_find(const struct event_store *store, uint64_t sequence)
{
    return search_first(&sequence, store->places, store->count, sizeof(*store->places), compare_sequence);
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
    for (size_t i = 0; i < store->count; i++)
        event_unref(event_store_at(store, i));
    free(store->places);
    free(store->users);
    memset(store, 0, sizeof(*store));
}
