/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_store.h - the newest events, ordered by sequence. Pure; for one thread.
 *
 * Guarantees
 *   A. The store is bounded in number and in bytes. If it is full, the oldest event of the user whose events use most
 *      bytes is dropped: no user can push out events of others before its own. The newest event is held whatever its
 *      size.
 *   B. Sequences only grow. An event that is not newer than the newest one is refused.
 */
#ifndef RIPD_NET_EVENT_STORE_H
#define RIPD_NET_EVENT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"

#define EVENT_STORE_COUNT_MAX 10000u
#define EVENT_STORE_BYTES_MAX (8u << 20)

/* An owned reference, and the uid next to it for fast scans. */
struct event_store_place {
    struct event *event;
    uint32_t uid;
};

struct event_store_user {
    uint32_t uid;
    size_t bytes;
};

struct event_store {
    struct event_store_place *places;
    size_t count;
    size_t capacity;
    size_t bytes;                   /* of the events held */
    struct event_store_user *users; /* users with events in the store, by uid */
    size_t user_count;
    size_t user_capacity;
    uint64_t newest_sequence; /* of all events ever added; 0 = none */
};

/*
 * Takes ownership of the reference, even on failure. Returns 0, -EEXIST if the event is not newer than the newest one,
 * or -ENOMEM.
 */
int event_store_add(struct event_store *store, struct event *event);
/* i is 0 for the oldest event held, up to count - 1. Borrowed: no reference is taken. */
struct event *event_store_at(const struct event_store *store, size_t i);
/* Returns the index of the first event held with at least this sequence, or count if there is none. */
size_t event_store_find(const struct event_store *store, uint64_t sequence);
/* Returns the sequence of the oldest event held, or one more than the newest if none is held. */
uint64_t event_store_oldest(const struct event_store *store);
/* Moves all events of `from`, which is empty afterwards. */
void event_store_move(struct event_store *store, struct event_store *from);
/* Drops all events, and resets the newest sequence. */
void event_store_done(struct event_store *store);

#endif
