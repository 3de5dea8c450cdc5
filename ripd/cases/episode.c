/* SPDX-License-Identifier: Apache-2.0 */
/*
 * episode.c - a chained hash table, and lists. Pure. See episode.h for the guarantees.
 */
#include "cases/episode.h"

#include <stdlib.h>

#define EPISODE_BUCKETS_MIN 16u

void episode_list_append(struct episode_list *list, struct episode *episode)
{
    episode->previous = list->last;
    episode->next = NULL;
    if (list->last)
        list->last->next = episode;
    else
        list->first = episode;
    list->last = episode;
}

void episode_list_remove(struct episode_list *list, struct episode *episode)
{
    if (episode->previous)
        episode->previous->next = episode->next;
    else
        list->first = episode->next;
    if (episode->next)
        episode->next->previous = episode->previous;
    else
        list->last = episode->previous;
    episode->previous = episode->next = NULL;
}

void episode_set_done(struct episode_set *set)
{
    free(set->buckets);
    *set = (struct episode_set){0};
}

static size_t bucket_of(const struct episode_set *set, struct episode_key key, size_t bucket_count)
{
    const uint64_t parts[] = {(uint64_t)key.ring << 32 | key.slot, key.generation};

    return (size_t)hash_bytes(&set->hash_key, parts, sizeof(parts)) & (bucket_count - 1);
}

/* Without memory it stays as it is, with longer chains. */
static void rehash(struct episode_set *set, size_t bucket_count)
{
    struct episode **buckets = calloc(bucket_count, sizeof(struct episode *));

    if (!buckets)
        return;
    for (size_t i = 0; i < set->bucket_count; i++) {
        struct episode *next;

        for (struct episode *episode = set->buckets[i]; episode; episode = next) {
            size_t bucket = bucket_of(set, episode->key, bucket_count);

            next = episode->chain;
            episode->chain = buckets[bucket];
            buckets[bucket] = episode;
        }
    }
    free(set->buckets);
    set->buckets = buckets;
    set->bucket_count = bucket_count;
}

struct episode *episode_set_find(const struct episode_set *set, struct episode_key key)
{
    struct episode *episode = set->bucket_count ? set->buckets[bucket_of(set, key, set->bucket_count)] : NULL;

    while (episode && (episode->key.ring != key.ring || episode->key.slot != key.slot ||
                       episode->key.generation != key.generation))
        episode = episode->chain;
    return episode;
}

struct episode *episode_set_add(struct episode_set *set, struct episode_key key)
{
    struct episode *episode;
    size_t bucket;

    if (set->count >= set->bucket_count)
        rehash(set, set->bucket_count ? 2 * set->bucket_count : EPISODE_BUCKETS_MIN);
    episode = set->bucket_count ? calloc(1, sizeof *episode) : NULL;
    if (!episode)
        return NULL;
    bucket = bucket_of(set, key, set->bucket_count);
    episode->key = key;
    episode->chain = set->buckets[bucket];
    set->buckets[bucket] = episode;
    set->count++;
    return episode;
}

void episode_set_remove(struct episode_set *set, struct episode *episode)
{
    struct episode **link = &set->buckets[bucket_of(set, episode->key, set->bucket_count)];

    while (*link != episode)
        link = &(*link)->chain;
    *link = episode->chain;
    episode->chain = NULL;
    set->count--;
    if (set->bucket_count > EPISODE_BUCKETS_MIN && set->count < set->bucket_count / 8)
        rehash(set, set->bucket_count / 4);
}
