/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_store.h - the newest events, in order of their sequence. Pure; of one thread.
 *
 * Guarantees
 *   A. What is held is bounded in number and in bytes. Where there is no room, the oldest event of the user whose
 *      events take most gives way: nobody can make others' events be forgotten before his own. The newest is held
 *      whatever its size.
 *   B. Sequences only grow from one event to the next: what is not newer than the newest is refused.
 */
#ifndef RIPD_NET_EVENT_STORE_H
#define RIPD_NET_EVENT_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"

#define EVENT_STORE_COUNT_MAX 10000u
#define EVENT_STORE_BYTES_MAX (8u << 20)

/* A reference, and beside it what is looked for among all. */
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
    size_t bytes;                   /* that the events held take */
    struct event_store_user *users; /* who have events here, by uid */
    size_t user_count;
    size_t user_capacity;
    uint64_t newest_sequence; /* of all there ever were; 0 = there was none */
};

/* Takes over the caller's reference, also when it fails: -EEXIST: not newer than the newest; -ENOMEM. */
int event_store_add(struct event_store *store, struct event *event);
/* i from 0, the oldest held, to count - 1. The store's reference. */
struct event *event_store_at(const struct event_store *store, size_t i);
/* Index of the first that is held with at least this sequence; count if there is none. */
size_t event_store_find(const struct event_store *store, uint64_t sequence);
/* Of the oldest that is held; one more than the newest if none is. */
uint64_t event_store_oldest(const struct event_store *store);
/* Adds all of `from`, which is empty afterwards. */
void event_store_move(struct event_store *store, struct event_store *from);
/* Drops all, and the newest sequence. */
void event_store_done(struct event_store *store);

#endif
