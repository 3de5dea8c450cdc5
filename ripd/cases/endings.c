/* SPDX-License-Identifier: Apache-2.0 */
/* endings.c - a circular buffer of chains; the oldest is dropped. Pure. */
#include "cases/endings.h"

#include <stdlib.h>
#include <string.h>

#include "util/reference.h"

struct ending {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    struct wait_chain *chain;
};

struct endings {
    size_t next; /* place of the next chain */
    struct ending items[ENDINGS_MAX];
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

struct endings *endings_new(void)
{
    return calloc(1, sizeof(struct endings));
}

void endings_free(struct endings *endings)
{
    for (size_t i = 0; endings != NULL && i < ENDINGS_MAX; i++)
        wait_chain_unref(endings->items[i].chain);
    free(endings);
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
        wait_chain_unref(endings->items[endings->next].chain);
        endings->items[endings->next] = (struct ending){event->ring, event->slot, event->generation, chain};
        endings->next = (endings->next + 1) % ENDINGS_MAX;
    }
}

struct wait_chain *endings_find(const struct endings *endings, uint32_t ring, uint32_t slot, uint32_t generation)
{
    for (size_t i = 0; i < ENDINGS_MAX; i++) {
        const struct ending *item = &endings->items[i];

        if (item->chain != NULL && item->ring == ring && item->slot == slot && item->generation == generation)
            return item->chain;
    }
    return NULL;
}
