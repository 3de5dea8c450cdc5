/* SPDX-License-Identifier: Apache-2.0 */
/*
 * episode.h - open episodes, found by the id they are of; for event_log.c. Pure.
 *
 * Guarantees
 *   A. An id has at most one episode in a set.
 *   B. Finding, adding and removing take constant time on average; memory is given back when episodes go.
 */
#ifndef RIPD_CASES_EPISODE_H
#define RIPD_CASES_EPISODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/detector.h"
#include "util/hash.h"

struct episode_key {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
};

struct episode {
    struct episode *chain; /* the set's: next in the same bucket */
    struct episode *previous;
    struct episode *next;
    struct episode_key key;
    uint32_t stall_count;
    uint64_t number;         /* 0 = its begin was never reported */
    uint64_t frozen_mono_ns; /* the first frozen observation */
    uint64_t moved_mono_ns;  /* when it moved, once it has */
    uint64_t progress;       /* at which it stood still first */
    uint64_t moved_after_mono_ns;
    bool fresh;  /* its begin is to be reported in this step */
    bool ending; /* it has moved, and the hysteresis time runs */
    enum detector_event_kind reason;
    enum id_cause cause;
    void *tag;
};

/* Episodes in some order; an episode is in one list at most. All zero = empty. */
struct episode_list {
    struct episode *first;
    struct episode *last;
};
void episode_list_append(struct episode_list *list, struct episode *episode);
void episode_list_remove(struct episode_list *list, struct episode *episode);

/* All zero = empty. */
struct episode_set {
    struct hash_key hash_key; /* set before anything is in it: rings choose slots and generations */
    struct episode **buckets;
    size_t bucket_count; /* a power of two, or 0 */
    size_t count;
};
void episode_set_done(struct episode_set *set); /* the episodes are not freed */

struct episode *episode_set_find(const struct episode_set *set, struct episode_key key);

/* A new episode, all zero but for its key. NULL: no memory. The id must have none in the set. */
struct episode *episode_set_add(struct episode_set *set, struct episode_key key);

/* Takes it out of the set; it is the caller's to free. */
void episode_set_remove(struct episode_set *set, struct episode *episode);

#endif
