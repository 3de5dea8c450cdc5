/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ended.c - the log of ended ids in the header of the ring: which ids have ended, and how many snaps they made. For
 * recorders.
 *
 * The slots of the ids in the log keep their contents, because slot.c claims them last. Processes append concurrently,
 * without a lock. A process that is killed half-way blocks nobody: the next one completes what it began.
 *
 * Guarantees
 *   1. Each number below ended_count was given to one end, and its entry was stored before ended_count passed it.
 *   2. Numbers of one process ascend in the order in which its ids ended.
 *   3. While ended_begun_count equals ended_count, ended_snap_count covers exactly the ids below ended_count.
 *   4. rip_flush() is async-signal-safe, and never waits.
 */
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer.h"

enum { WORD_BITS = 64 };

static bool is_entry_of(uint64_t entry, uint64_t number)
{
    return (entry >> RIP_ENDED_LAP_SHIFT & RIP_ENDED_LAP_MASK) == RIP_ENDED_LAP(number);
}

/* Returns the number of the oldest id that is still in the log when `count` ids have ended. */
static uint64_t oldest_of(uint64_t count)
{
    return count > RIP_ENDED_COUNT ? count - RIP_ENDED_COUNT : 0;
}

uint64_t rip__ended_oldest(void)
{
    return oldest_of(rip_load_relaxed(&rip__header()->ended_count));
}

void rip__ended_begin(void)
{
    rip_add_relaxed(&rip__header()->ended_begun_count, 1); /* ordered by the releases that follow */
}

void rip__ended_log(uint32_t slot, uint32_t generation, uint64_t snap_count)
{
    struct rip_ring *ring = rip__header();
    uint64_t entry = (uint64_t)generation << RIP_ENDED_GENERATION_SHIFT | slot;
    bool logged = false;

    rip_add_release(&ring->ended_snap_count, snap_count); /* pairs with the acquire in copy_ended() in reader.c */
    while (!logged) {
        uint64_t number = rip_load_acquire(&ring->ended_count); /* pairs with the exchange of it below */
        uint64_t *place = &ring->ended[number % RIP_ENDED_COUNT];
        uint64_t found = rip_load_acquire(place);

        if (rip_load_relaxed(&ring->ended_count) != number)
            continue; /* `found` may be newer than the number */
        if (!is_entry_of(found, number))
            logged = rip_compare_exchange(place, &found, entry | RIP_ENDED_LAP(number) << RIP_ENDED_LAP_SHIFT);
        /*
         * The entry is of this end, or of another process that has not come this far: complete it. Pairs with the
         * acquires of ended_count, here and in reader.c.
         */
        rip_compare_exchange(&ring->ended_count, &number, number + 1);
    }
}

bool rip__ended_next(uint64_t *number, uint32_t *ret_slot, uint32_t *ret_generation)
{
    struct rip_ring *ring = rip__header();
    uint64_t count = rip_load_acquire(&ring->ended_count); /* pairs with the exchange in rip__ended_log() */
    uint64_t entry;

    if (*number < oldest_of(count))
        *number = oldest_of(count);
    if (*number >= count)
        return false;
    entry = rip_load_relaxed(&ring->ended[(*number)++ % RIP_ENDED_COUNT]);
    *ret_slot = (uint32_t)(entry & RIP_ENDED_SLOT_MASK);
    *ret_generation = (uint32_t)(entry >> RIP_ENDED_GENERATION_SHIFT);
    return true;
}

uint64_t rip__ended_slots(uint32_t first_word, uint32_t word_count, uint64_t *ret_bits)
{
    uint64_t number = 0;
    uint32_t slot, generation;

    memset(ret_bits, 0, word_count * sizeof(*ret_bits));
    while (rip__ended_next(&number, &slot, &generation)) {
        if (slot / WORD_BITS - first_word < word_count)
            ret_bits[slot / WORD_BITS - first_word] |= UINT64_C(1) << (slot % WORD_BITS);
    }
    return number;
}

bool rip__ended_since(uint64_t number, uint32_t slot)
{
    uint32_t ended, generation;

    while (rip__ended_next(&number, &ended, &generation)) {
        if (ended == slot)
            return true;
    }
    return false;
}

void rip_flush(void)
{
    struct rip_ring *ring = rip_load_acquire(&rip_ring); /* pairs with the release in file.c */
    int saved_errno = errno;

    if (ring == NULL)
        return;
    rip_add_release(&ring->flush_count, 1); /* pairs with the acquire in rip_view_info() */
    if (!rip__is_filtered())
        syscall(SYS_futex, &ring->flush_count, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
    errno = saved_errno;
}
