/* SPDX-License-Identifier: Apache-2.0 */
/* endings.c - chains in the order in which they were stored; a user drops its oldest. Pure. */
#include "cases/endings.h"

#include <stdlib.h>
#include <string.h>

#include "util/reference.h"

#define PLACES 4096u /* more than chains: twice the total of WORK_CHAINS */

struct ending {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint32_t user;
    struct wait_chain *chain; /* NULL: dropped */
};

struct endings {
    struct work *work;
    size_t first; /* place of the oldest chain */
    size_t end;   /* place of the next chain */
    struct ending items[PLACES];
};

void wait_chain_unref(struct wait_chain *chain)
{
    if (!reference_drop(chain))
        return;
    for (size_t i = 0; i < chain->chain.count; i++)
        free((char *)(uintptr_t)chain->nodes[i].ring_name);
    free(chain);
}

/* Returns NULL if out of memory, or if no holder is known. */
static struct wait_chain *copy_chain(const struct waits *waits, uint32_t node)
{
    struct wait_chain *copy;
    struct waits_chain chain;

    waits_chain(waits, node, &chain);
    copy = chain.count != 0 ? reference_new(sizeof(*copy) + chain.count * sizeof(copy->nodes[0])) : NULL;
    if (copy == NULL)
        return NULL;
    copy->chain = chain;
    for (size_t i = 0; i < chain.count; i++) {
        struct waits_node *member = &copy->nodes[i];

        *member = *chain.steps[i].node;
        member->item = NULL;
        member->ring_name = member->ring_name != NULL ? strdup(member->ring_name) : NULL;
        copy->chain.steps[i].node = member;
    }
    return copy;
}

struct endings *endings_new(struct work *work)
{
    struct endings *endings = calloc(1, sizeof(*endings));

    if (endings != NULL)
        endings->work = work;
    return endings;
}

void endings_free(struct endings *endings)
{
    for (size_t i = 0; endings != NULL && i < PLACES; i++)
        wait_chain_unref(endings->items[i].chain);
    free(endings);
}

/* Returns false if the user has no chain. */
static bool drop_oldest(struct endings *endings, uint32_t user)
{
    size_t i = endings->first;

    while (i < endings->end && (endings->items[i].chain == NULL || endings->items[i].user != user))
        i++;
    if (i == endings->end)
        return false;
    wait_chain_unref(endings->items[i].chain);
    endings->items[i].chain = NULL;
    work_give(endings->work, user, WORK_CHAINS, 1);
    while (endings->first < endings->end && endings->items[endings->first].chain == NULL)
        endings->first++;
    return true;
}

/* Takes the quota for another chain. Drops the oldest chain of the user who has most. */
static bool take_quota(struct endings *endings, uint32_t user)
{
    const struct work *work = endings->work;

    while (!work_has_room(work, user, WORK_CHAINS, 1)) {
        uint32_t largest = user;

        if (work_largest(work, WORK_CHAINS, &largest) &&
            work_held(work, largest, WORK_CHAINS) <= work_held(work, user, WORK_CHAINS) + 1)
            largest = user;
        if (!drop_oldest(endings, largest) && !drop_oldest(endings, user)) /* users may share an account */
            break;
    }
    return work_take(endings->work, user, WORK_CHAINS, 1);
}

/* Takes ownership of ending.chain. */
static void append(struct endings *endings, struct ending ending)
{
    size_t kept = 0;

    if (endings->end == PLACES) {
        for (size_t i = endings->first; i < PLACES; i++)
            if (endings->items[i].chain != NULL)
                endings->items[kept++] = endings->items[i];
        memset(&endings->items[kept], 0, (PLACES - kept) * sizeof(endings->items[0]));
        endings->first = 0;
        endings->end = kept;
    }
    endings->items[endings->end++] = ending;
}

void endings_note(struct endings *endings, const struct detector_update *update, const struct waits *waits)
{
    for (size_t i = 0; waits != NULL && i < update->event_count; i++) {
        const struct detector_event *event = &update->events[i];
        uint32_t node =
            event->kind == DETECTOR_GONE ? waits_find(waits, event->ring, event->slot, event->generation) : WAITS_NONE;
        struct wait_chain *chain = node != WAITS_NONE ? copy_chain(waits, node) : NULL;

        if (chain == NULL)
            continue;
        if (take_quota(endings, waits->nodes[node].user))
            append(endings,
                   (struct ending){event->ring, event->slot, event->generation, waits->nodes[node].user, chain});
        else
            wait_chain_unref(chain);
    }
}

struct wait_chain *endings_find(const struct endings *endings, uint32_t ring, uint32_t slot, uint32_t generation)
{
    for (size_t i = endings->first; i < endings->end; i++) {
        const struct ending *item = &endings->items[i];

        if (item->chain != NULL && item->ring == ring && item->slot == slot && item->generation == generation)
            return item->chain;
    }
    return NULL;
}
