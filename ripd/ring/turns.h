/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns.h - what a scan may spend on what rings ask for, a time or a number: in equal shares of the owners of rings,
 * whose own wishes take turns.
 *
 * A scan cannot do all that rings make it want to do, and who comes first would be served for ever. So a list of wishes
 * is gone through twice: on the first sweep come those behind where the owner's share was spent the last time, on the
 * second the others.
 *
 * Guarantees
 *   A. Each owner whose rings wish for something has an equal share, whatever the others wish for. (Beyond
 *      REGISTRY_OWNERS_MAX of them, several share one.)
 *   B. Each wish has its turn some time, as long as keys stay as they are. What is asked twice on one scan is served in
 *      the same order.
 */
#ifndef RIPD_RING_TURNS_H
#define RIPD_RING_TURNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TURNS_OWNERS_MAX 64u /* REGISTRY_OWNERS_MAX */
#define TURNS_SWEEPS 2u

/* For what; for each the registry remembers where an owner's turns go on. */
enum turns_kind {
    TURNS_OWNERS,  /* whether there are threads that memory names as owners of locks */
    TURNS_NUMBERS, /* what the threads in chains are called in our pid namespace */
    TURNS_LOOKUPS, /* ids that are read in search of owners */
    TURNS_ROOTS,   /* descriptions of those who hold others up */
    TURNS_DOUBTS,  /* who is looked at again at once */
    TURNS_COUNT,
};

struct registry;
struct ring;

/* Of the registry. */
struct turns_memory;
int turns_new(struct turns_memory **ret_memory);
void turns_free(struct turns_memory *memory);
void turns_refresh(struct turns_memory *memory, struct ring *const *rings, size_t count);
struct turns_memory *registry_turns(const struct registry *registry);

struct turns {
    struct registry *registry;
    enum turns_kind kind;
    uint64_t share;
    uint64_t wishing; /* a bit for each owner */
    uint64_t spent[TURNS_OWNERS_MAX];
    uint64_t stopped_at[TURNS_OWNERS_MAX]; /* the first wish that nothing was left for; UINT64_MAX = there is none */
};

/* In this order: begin; a wish for each ring that has any, which may be told more than once; share; what follows; end.
 */
void turns_begin(struct turns *turns, struct registry *registry, enum turns_kind kind);
void turns_wish(struct turns *turns, const struct ring *ring);
void turns_share(struct turns *turns, uint64_t amount);
void turns_end(const struct turns *turns); /* from the next refresh on it goes on where this one stopped */

/* A wish within a ring; in the order in which they are gone through. */
static inline uint64_t turns_key(uint32_t ring_serial, uint32_t within)
{
    return (uint64_t)ring_serial << 32 | within;
}

/* Whether a wish is to be served on this sweep, 0 or 1. */
bool turns_due(const struct turns *turns, const struct ring *ring, uint64_t key, unsigned sweep);

/* What the owner of the ring has left; asked of each wish that is due. 0: it has its turn on the next scan. */
uint64_t turns_left(struct turns *turns, const struct ring *ring, uint64_t key);
void turns_spend(struct turns *turns, const struct ring *ring, uint64_t amount);

#endif
