/* SPDX-License-Identifier: Apache-2.0 */
/* registry_turns.c - shares of owners, and where their turns go on. Touches nothing else. See turns.h. */
#include "ring/registry_state.h"
#include "ring/turns.h"

_Static_assert(TURNS_OWNERS_MAX == REGISTRY_OWNERS_MAX, "a share for each owner");

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
    return (key >= turns->registry->owners[ring->owner].goes_on_at[turns->kind]) == (sweep == 0);
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
    for (size_t i = 0; i < turns->registry->owner_count; i++)
        if (turns->stopped_at[i] != UINT64_MAX)
            turns->registry->owners[i].next_goes_on_at[turns->kind] = turns->stopped_at[i];
}
