/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait.c - an id says for which lock it waits, and who held it when it looked. Touches its slot and the clock.
 *
 * Guarantees
 *   1. A reader sees one mark whole or none: idle_mark, which is the time of the mark, is 0 while the rest changes, and
 *      never the same for two marks.
 *   2. The time of a mark lies before the look at the owner: of two marks, the one whose time is later than the other's
 *      wait began says what was true during that wait.
 *   3. wait_age_s never makes a wait older than it is.
 *   4. Only the slot that is on this thread now is written: after a fork in the middle of a wait the child marks its
 *      own, or none.
 *   5. A mark belongs to one count: the next snap, also one in a signal handler, makes it void.
 */
#include <time.h>

#include "writer.h"

#define SECOND_NS UINT64_C(1000000000)
#define NOT_A_TIME                                                                                                     \
    (UINT64_C(1) << 63) /* the highest bit: set in what rip_idle() stores, as counts are far from 2^63                 \
                         */

static bool is_time(uint64_t idle_mark)
{
    return idle_mark != 0 && (idle_mark & NOT_A_TIME) == 0;
}

/* Not the clock of the ring's other times: this one a daemon can hold against its own without knowing of suspends. */
static uint64_t mono_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* Later than the mark before, also by a clock that stands still for milliseconds. */
static uint64_t time_after(uint64_t last_mark)
{
    uint64_t now_ns = mono_ns();

    return is_time(last_mark) && now_ns <= last_mark ? last_mark + 1 : now_ns;
}

static uint8_t age_of(uint64_t begun_ns, uint64_t now_ns)
{
    uint64_t age_s = now_ns > begun_ns ? (now_ns - begun_ns) / SECOND_NS : 0;

    return age_s < UINT8_MAX ? (uint8_t)age_s : UINT8_MAX;
}

/* now_ns comes from before this call: see guarantee 2. */
static void store_mark(struct rip_slot *slot, const uint32_t *owner, uint64_t now_ns, uint8_t age_s)
{
    rip_store_relaxed(&slot->wait_owner, owner != NULL ? rip_load_relaxed(owner) : 0);
    rip_store_relaxed(&slot->wait_age_s, age_s);
    rip_store_relaxed(&slot->wait_tag, (uint8_t)rip_load_relaxed(&slot->count));
    rip_store_release(&slot->idle_mark, now_ns); /* pairs with the acquire of idle_mark in reader_copy.c */
}

/* Between this and store_mark() nothing that a reader sees is a wait. */
static void void_mark(struct rip_slot *slot)
{
    rip_store_relaxed(&slot->idle_mark, 0);
    rip_fence_release(); /* pairs with the acquire fence after the copy of a wait in reader_copy.c */
}

void rip_wait_begin(const void *lock, const uint32_t *owner, uint32_t flags)
{
    struct rip_slot *slot = rip__thread.slot;
    uint64_t now_ns;

    if (slot == NULL)
        return;
    now_ns = time_after(rip_load_relaxed(&slot->idle_mark));
    void_mark(slot);
    rip_store_relaxed(&slot->wait_address, (uintptr_t)lock & RIP_ENTRY_ADDRESS_MASK);
    rip_store_relaxed(&slot->wait_flags, (uint8_t)flags);
    store_mark(slot, owner, now_ns, 0);
}

void rip_wait_look(const uint32_t *owner)
{
    struct rip_slot *slot = rip__thread.slot;
    uint64_t last_ns, begun_ns, now_ns;

    if (slot == NULL)
        return;
    last_ns = rip_load_relaxed(&slot->idle_mark);
    now_ns = time_after(last_ns);
    begun_ns = now_ns; /* for all that is known, if a signal handler has made the mark void */
    if (is_time(last_ns) && rip_load_relaxed(&slot->wait_tag) == (uint8_t)rip_load_relaxed(&slot->count))
        begun_ns = last_ns - rip_load_relaxed(&slot->wait_age_s) * SECOND_NS;
    void_mark(slot);
    store_mark(slot, owner, now_ns, age_of(begun_ns, now_ns));
}

void rip_wait_end(void)
{
    struct rip_slot *slot = rip__thread.slot;

    if (slot != NULL && is_time(rip_load_relaxed(&slot->idle_mark)))
        rip_store_relaxed(&slot->idle_mark, 0);
}
