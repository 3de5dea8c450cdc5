/* SPDX-License-Identifier: Apache-2.0 */
/* turns.c - shares of owners, and where their turns go on. Touches nothing else. See turns.h. */
#include "ring/turns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/registry.h"

_Static_assert(TURNS_OWNERS_MAX == REGISTRY_OWNERS_MAX, "a share for each owner");

/* A user who owns rings. */
struct owner {
    uint32_t uid;
    uint64_t goes_on_at[TURNS_COUNT];
    uint64_t next_goes_on_at[TURNS_COUNT]; /* from the next refresh on */
};

struct turns_memory {
    struct owner owners[TURNS_OWNERS_MAX];
    size_t count;
};

int turns_new(struct turns_memory **ret_memory)
{
    *ret_memory = calloc(1, sizeof(**ret_memory));
    return *ret_memory != NULL ? 0 : -ENOMEM;
}

void turns_free(struct turns_memory *memory)
{
    free(memory);
}

static uint32_t find_owner(struct turns_memory *memory, uint32_t uid)
{
    size_t i = 0;

    while (i < memory->count && memory->owners[i].uid != uid)
        i++;
    if (i == TURNS_OWNERS_MAX)
        return TURNS_OWNERS_MAX - 1;
    if (i == memory->count)
        memory->owners[memory->count++] = (struct owner){.uid = uid};
    return (uint32_t)i;
}

void turns_refresh(struct turns_memory *memory, struct ring *const *rings, size_t count)
{
    const struct turns_memory before = *memory;

    memory->count = 0;
    for (size_t i = 0; i < count; i++)
        rings[i]->owner = find_owner(memory, rings[i]->mapping.file.uid);
    for (size_t i = 0; i < memory->count; i++)
        for (size_t j = 0; j < before.count; j++)
            if (before.owners[j].uid == memory->owners[i].uid) {
                memory->owners[i] = before.owners[j];
                memcpy(memory->owners[i].goes_on_at, before.owners[j].next_goes_on_at,
                       sizeof(memory->owners[i].goes_on_at));
            }
}

void turns_begin(struct turns *turns, struct registry *registry, enum turns_kind kind)
{
    *turns = (struct turns){.registry = registry, .kind = kind};
    for (size_t i = 0; i < TURNS_OWNERS_MAX; i++)
        turns->stopped_at[i] = UINT64_MAX;
}

void turns_wish(struct turns *turns, const struct ring *ring)
{
    turns->wishing |= UINT64_C(1) << ring->owner;
}

void turns_share(struct turns *turns, uint64_t amount)
{
    unsigned count = 0;

    for (uint64_t wishing = turns->wishing; wishing != 0; wishing &= wishing - 1)
        count++;
    turns->share = count != 0 ? amount / count : 0;
    if (turns->share == 0)
        turns->share = 1;
}

bool turns_due(const struct turns *turns, const struct ring *ring, uint64_t key, unsigned sweep)
{
    return (key >= registry_turns(turns->registry)->owners[ring->owner].goes_on_at[turns->kind]) == (sweep == 0);
}

uint64_t turns_left(struct turns *turns, const struct ring *ring, uint64_t key)
{
    const uint64_t spent = turns->spent[ring->owner];

    if (spent < turns->share)
        return turns->share - spent;
    if (turns->stopped_at[ring->owner] == UINT64_MAX)
        turns->stopped_at[ring->owner] = key;
    return 0;
}

void turns_spend(struct turns *turns, const struct ring *ring, uint64_t amount)
{
    turns->spent[ring->owner] += amount;
}

void turns_end(const struct turns *turns)
{
    for (size_t i = 0; i < registry_turns(turns->registry)->count; i++)
        if (turns->stopped_at[i] != UINT64_MAX)
            registry_turns(turns->registry)->owners[i].next_goes_on_at[turns->kind] = turns->stopped_at[i];
}
