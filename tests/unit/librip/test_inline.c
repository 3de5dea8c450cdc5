/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_inline.c - the inline functions as exported symbols, with globals defined by the program: librip/inline.c,
 * rip/rip.h.
 *
 * This program defines the four globals itself, as programs may.
 */
#include "unit/writer_test.h"

_Thread_local pid_t rip_tid;
_Thread_local uint8_t rip_idx;
_Thread_local uint8_t rip_ctr;
struct rip_ring *rip_ring;

/* Volatile: calls go through the symbol and are not inlined. */
static void (*volatile real_snap)(void) = rip_snap;
static void (*volatile real_idle)(void) = rip_idle;
static void (*volatile real_switch)(struct rip_context *, const struct rip_context *) = rip_switch;

static uint64_t newest_address(void)
{
    const struct rip_slot *slot = rip__thread.slot;

    return slot->entry[slot->count % RIP_ENTRY_COUNT] & RIP_ENTRY_ADDRESS_MASK;
}

static void enter_ring(void)
{
    make_ring(100);
    rip_init(1, "one", 3, 7, 9);
    CHECK(rip__thread.slot != NULL);
}

__attribute__((noinline)) static void call_real_snap(void)
{
    real_snap();
}

FORKED_TEST(real_snap_records_its_caller)
{
    enter_ring();
    call_real_snap();
    CHECK(newest_address() - (uintptr_t)call_real_snap + 65536 < 131072);
    CHECK(newest_address() - (uintptr_t)real_snap > 256);
    CHECK(rip_idx == 8 && rip_ctr == 10 && rip__thread.slot->count == 10);
    rip_snap();
    CHECK(rip_idx == 9 && rip_ctr == 11 && rip__thread.slot->count == 11);
}

static uintptr_t returned_to;

__attribute__((noinline)) static void note_return(void)
{
    returned_to = (uintptr_t)__builtin_return_address(0);
}

/* Calls callee. The call is not the last statement, because the compiler would turn it into a jump. */
__attribute__((noinline)) static void call(void (*callee)(void))
{
    static volatile unsigned called;

    callee();
    called++;
}

/* The return address may belong to the next line, or to the next function. */
FORKED_TEST(real_snap_records_the_call_not_what_follows)
{
    enter_ring();
    call(note_return);
    call(real_snap);
    CHECK(newest_address() == returned_to - 1);
}

FORKED_TEST(snap_at_records_its_address)
{
    enter_ring();
    for (unsigned i = 1; i <= 1000; i++) {
        uint64_t address = UINT64_C(0xff00123456789abc) + i; /* the high byte holds the tag */

        rip_snap_at((const void *)(uintptr_t)address);
        CHECK(newest_address() == (address & RIP_ENTRY_ADDRESS_MASK));
        CHECK(rip__thread.slot->entry[(9 + i) % RIP_ENTRY_COUNT] >> RIP_ENTRY_TAG_SHIFT == (9 + i) % 256);
        CHECK(rip_ctr == (uint8_t)(9 + i) && rip_idx == (uint8_t)(7 + i));
    }
}

FORKED_TEST(real_idle)
{
    enter_ring();
    real_idle();
    CHECK(rip__thread.slot->idle_mark == ~rip__thread.slot->count);
}

FORKED_TEST(real_switch_goes_both_ways)
{
    struct rip_context one, two;

    enter_ring();
    CHECK(rip_context_init(&two, 2, "two", 3));
    real_switch(&one, &two);
    CHECK(rip_tid == 2 && rip__thread.slot == two.slot);
    real_snap();
    real_switch(&two, &one);
    CHECK(rip_tid == 1 && rip_idx == 7 && rip_ctr == 9 && two.ctr == 1);
}

FORKED_TEST(calls_without_an_id_do_nothing)
{
    struct rip_context context;

    real_snap();
    real_idle();
    real_switch(&context, NULL);
    real_switch(NULL, &context);
    rip_snap_at(&test_directory);
    CHECK(rip_tid == 0 && rip_idx == 0 && rip_ctr == 0 && rip_ring == NULL);
}

/* Volatile, because a compiler may assume that two symbols have different addresses. */
static bool same_address(const void *volatile one, const void *volatile other)
{
    return one == other;
}

/* The library uses the variables of the program. */
FORKED_TEST(library_uses_the_globals_of_the_program)
{
    enter_ring();
    CHECK((void *)rip_ring == (void *)rip__writer.base);
    CHECK(same_address(&rip_tid, &rip__tid) && same_address(&rip_idx, &rip__idx) && same_address(&rip_ctr, &rip__ctr));
    CHECK(rip_tid == 1 && rip_idx == 7 && rip_ctr == 9);
}
