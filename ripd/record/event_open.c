/* SPDX-License-Identifier: Apache-2.0 */
/* event_open.c - a sorted array: numbers ascend, so that what is added goes to its end. */
#include "record/event_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/search.h"

void event_open_done(struct event_open_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        event_unref(set->episodes[i].begin);
    free(set->episodes);
    *set = (struct event_open_set){0};
}

static int compare_episode(const void *key, const void *item)
{
    return search_order(*(const uint64_t *)key, ((const struct event_open *)item)->subject.episode);
}

/* Where it is, or would be. */
static size_t place_of(const struct event_open_set *set, uint64_t episode)
{
    return search_first(&episode, set->episodes, set->count, sizeof(*set->episodes), compare_episode);
}

struct event_open *event_open_find(struct event_open_set *set, uint64_t episode)
{
    size_t place = place_of(set, episode);

    return place < set->count && set->episodes[place].subject.episode == episode ? &set->episodes[place] : NULL;
}

int event_open_add(struct event_open_set *set, struct event *begin, const struct event_subject *subject)
{
    struct event_open *longer;
    size_t place;

    if (event_open_find(set, subject->episode) != NULL)
        return -EEXIST;
    longer = array_reserve(set->episodes, &set->capacity, set->count + 1, sizeof(*longer));
    if (longer == NULL)
        return -ENOMEM;
    set->episodes = longer;
    place = place_of(set, subject->episode);
    memmove(&longer[place + 1], &longer[place], (set->count - place) * sizeof(*longer));
    longer[place] = (struct event_open){.begin = event_ref(begin), .subject = *subject};
    set->count++;
    return 0;
}

void event_open_remove(struct event_open_set *set, uint64_t episode)
{
    struct event_open *found = event_open_find(set, episode);
    size_t place;

    if (found == NULL)
        return;
    place = (size_t)(found - set->episodes);
    event_unref(found->begin);
    set->count--;
    memmove(found, found + 1, (set->count - place) * sizeof(*found));
    set->episodes = array_trim(set->episodes, &set->capacity, set->count, sizeof(*found));
}

void event_open_forget(struct event_open_set *set, uint64_t sequence)
{
    size_t kept = 0;

    for (size_t i = 0; i < set->count; i++) {
        if (set->episodes[i].end_sequence != 0 && set->episodes[i].end_sequence <= sequence)
            event_unref(set->episodes[i].begin);
        else
            set->episodes[kept++] = set->episodes[i];
    }
    set->count = kept;
    set->episodes = array_trim(set->episodes, &set->capacity, set->count, sizeof(*set->episodes));
}

int event_open_copy(const struct event_open_set *set, uint64_t sequence, struct event_open_set *ret_copy)
{
    struct event_open_set copy = {0};

    for (size_t i = 0; i < set->count; i++) {
        const struct event_open *open = &set->episodes[i];
        int status = 0;

        if (open->begin->sequence <= sequence && (open->end_sequence == 0 || open->end_sequence > sequence))
            status = event_open_add(&copy, open->begin, &open->subject);
        if (status != 0) {
            event_open_done(&copy);
            return status;
        }
    }
    *ret_copy = copy;
    return 0;
}
