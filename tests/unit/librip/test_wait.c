/* SPDX-License-Identifier: Apache-2.0 */
/* test_wait.c - marks of waits for locks: librip/thread.c and rip_view_wait(). */
#include <sched.h>
#include <time.h>

#include "unit/forked_test.h"

static uint32_t owner;
static char lock[2];

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void enter_ring(void)
{
    make_ring(100);
    register_traced(7, "seven");
}

static void begin_wait(uint8_t flags)
{
    rip_wait_begin(lock, &owner, flags);
}

static enum rip_status read_wait(struct rip_wait_info *ret_info)
{
    return rip_view_wait(own_view(), own_slot_index(), ret_info);
}

static bool is_marked(void)
{
    struct rip_wait_info info;

    return read_wait(&info) == RIP_OK;
}

FORKED_TEST(a_mark_is_copied_whole)
{
    uint64_t before_ns = now_ns();
    struct rip_wait_info info;

    enter_ring();
    rip_snap();
    owner = 4711;
    begin_wait(RIP_WAIT_SHARABLE | RIP_WAIT_ENDS);
    CHECK(read_wait(&info) == RIP_OK);
    CHECK(info.slot == own_slot_index() && info.generation == rip__thread.slot->generation);
    CHECK(info.id == 7 && info.tid == (uint32_t)gettid() && info.process == 0);
    CHECK(info.flags == (RIP_WAIT_SHARABLE | RIP_WAIT_ENDS) && info.owner == 4711 && info.progress == 1);
    CHECK(info.address == ((uintptr_t)lock & RIP_ENTRY_ADDRESS_MASK));
    CHECK(info.seen_mono_ns >= before_ns && info.seen_mono_ns <= now_ns());
    CHECK(info.begun_mono_ns == info.seen_mono_ns);
}

FORKED_TEST(end_and_snap_remove_the_mark)
{
    struct rip_wait_info info = {.slot = 99};

    enter_ring();
    CHECK(read_wait(&info) == RIP_NOT_LIVE && info.slot == 99);
    begin_wait(0);
    CHECK(is_marked());
    rip_wait_end();
    CHECK(!is_marked());
    begin_wait(0);
    rip_snap();
    CHECK(!is_marked());
    begin_wait(0);
    register_id(7, "other"); /* a new registration */
    CHECK(!is_marked());
}

FORKED_TEST(idle_and_waits_replace_each_other)
{
    enter_ring();
    rip_snap();
    rip_idle();
    begin_wait(0);
    CHECK(is_marked() && rip__thread.slot->idle_mark != ~rip__thread.slot->count);
    rip_idle();
    CHECK(!is_marked() && rip__thread.slot->idle_mark == ~rip__thread.slot->count);
    rip_wait_end(); /* the wait has already ended: the id stays idle */
    CHECK(rip__thread.slot->idle_mark == ~rip__thread.slot->count);
}

FORKED_TEST(look_rereads_the_owner_and_keeps_the_age)
{
    struct rip_wait_info first, second;

    enter_ring();
    owner = 1;
    begin_wait(RIP_WAIT_SHARABLE);
    CHECK(read_wait(&first) == RIP_OK);
    rip__thread.slot->idle_mark -= UINT64_C(3500000000); /* as if the wait had begun 3.5 s ago */
    owner = 2;
    rip_wait_look(&owner);
    CHECK(read_wait(&second) == RIP_OK && second.owner == 2 && second.flags == RIP_WAIT_SHARABLE);
    CHECK(second.seen_mono_ns > first.seen_mono_ns);
    CHECK(second.seen_mono_ns - second.begun_mono_ns == UINT64_C(3000000000)); /* rounded down to whole seconds */
    rip__thread.slot->idle_mark -= UINT64_C(2500000000);
    rip_wait_look(&owner);
    CHECK(read_wait(&second) == RIP_OK && second.seen_mono_ns - second.begun_mono_ns == UINT64_C(5000000000));
    rip__thread.slot->wait_age_s = 254; /* a clock that started at boot cannot */
    rip__thread.slot->idle_mark -= UINT64_C(2500000000);
    rip_wait_look(NULL);
    CHECK(read_wait(&second) == RIP_OK && second.owner == 0 && rip__thread.slot->wait_age_s == 255);
}

static uint32_t *far_owner; /* in a page that is unreadable at first */
static bool was_marked;

static void make_readable(int number)
{
    (void)number;
    was_marked = is_marked();
    if (mprotect(far_owner, 4096, PROT_READ) != 0)
        _exit(3);
}

/* A reader sees no mark while the owner is being read: neither the previous mark nor a part of the new one. */
FORKED_TEST(mark_is_invisible_while_it_is_made)
{
    enter_ring();
    far_owner = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(far_owner != MAP_FAILED && signal(SIGSEGV, make_readable) != SIG_ERR);
    begin_wait(0);
    was_marked = true;
    rip_wait_begin(lock + 1, far_owner, 0);
    CHECK(!was_marked && is_marked());
    was_marked = true;
    CHECK(mprotect(far_owner, 4096, PROT_NONE) == 0);
    rip_wait_look(far_owner);
    CHECK(!was_marked && is_marked());
}

/* A signal handler that snaps ends the wait; the next look starts a wait of unknown age. */
FORKED_TEST(look_after_a_snap_starts_a_new_wait)
{
    struct rip_wait_info info;

    enter_ring();
    begin_wait(0);
    rip__thread.slot->wait_age_s = 9;
    rip_snap();
    CHECK(!is_marked());
    rip_wait_look(&owner);
    CHECK(read_wait(&info) == RIP_OK && info.begun_mono_ns == info.seen_mono_ns);
    CHECK(info.address == ((uintptr_t)lock & RIP_ENTRY_ADDRESS_MASK));
}

FORKED_TEST(marks_have_distinct_times)
{
    uint64_t last_ns = 0;

    enter_ring();
    for (unsigned i = 0; i < 1000; i++) {
        begin_wait(0);
        CHECK(rip__thread.slot->idle_mark > last_ns);
        last_ns = rip__thread.slot->idle_mark;
    }
    rip__thread.slot->idle_mark = last_ns + UINT64_C(1000000000); /* a mark later than the clock */
    begin_wait(0);
    CHECK(rip__thread.slot->idle_mark == last_ns + UINT64_C(1000000001));
}

FORKED_TEST(suspended_coroutine_keeps_its_mark)
{
    struct rip_context here, there;
    struct rip_wait_info info;
    uint32_t slot;

    enter_ring();
    slot = own_slot_index();
    CHECK(rip_context_init(&there, 8, "eight", 5));
    owner = 8;
    begin_wait(RIP_WAIT_OWNER_IS_ID | RIP_WAIT_OWNER_LASTS);
    rip_switch(&here, &there);
    rip_wait_end(); /* no effect: this id has no mark */
    CHECK(rip_view_wait(own_view(), slot, &info) == RIP_OK);
    CHECK(info.tid == 0 && info.owner == 8 && info.flags == (RIP_WAIT_OWNER_IS_ID | RIP_WAIT_OWNER_LASTS));
    rip_switch(&there, &here);
    CHECK(is_marked());
}

FORKED_TEST(waits_without_an_id_do_nothing)
{
    begin_wait(0);
    rip_wait_look(&owner);
    rip_wait_end();
    errno = 77;
    enter_ring();
    errno = 77;
    begin_wait(0);
    rip_wait_look(&owner);
    rip_wait_end();
    CHECK(errno == 77);
}

/* The child continues the same wait, but does not change the mark in its parent's slot. */
FORKED_TEST(child_does_not_change_its_parents_mark)
{
    enter_ring();
    owner = 5;
    begin_wait(0);
    if (in_child()) {
        owner = 6;
        rip_wait_look(&owner);
        rip_wait_end();
        CHECK(rip__thread.slot == NULL);
        _exit(0);
    }
    CHECK(is_marked() && rip__thread.slot->wait_owner == 5);
}

enum { COPIES = 20000 };

struct marking {
    struct rip_slot *slot;
    bool enough;
};

/* Makes marks whose address, owner and flags match each other, until `enough` is set. */
static void *keep_marking(void *argument)
{
    struct marking *marking = argument;

    register_id(0, "marker");
    __atomic_store_n(&marking->slot, rip__thread.slot, __ATOMIC_RELEASE);
    for (uint32_t i = 0; !__atomic_load_n(&marking->enough, __ATOMIC_RELAXED); i++) {
        uint32_t which = i % 2;

        rip_wait_begin(&lock[which], &which, which * RIP_WAIT_SHARABLE);
        if (i % 3 == 0)
            rip_wait_look(&which);
        if (i % 64 == 0)
            sched_yield(); /* let the reader run on one processor */
    }
    return NULL;
}

FORKED_TEST(copies_never_mix_two_marks)
{
    struct marking marking = {NULL, false};
    pthread_t thread;

    enter_ring();
    thread = start_thread(keep_marking, &marking);
    while (__atomic_load_n(&marking.slot, __ATOMIC_ACQUIRE) == NULL)
        sched_yield();
    for (unsigned copies = 0; copies < COPIES;) {
        struct rip_wait_info info;

        if (rip_view_wait(own_view(), slot_index(marking.slot), &info) != RIP_OK)
            continue;
        copies++;
        CHECK(info.owner < 2 && info.flags == info.owner * RIP_WAIT_SHARABLE);
        CHECK(info.address == ((uintptr_t)&lock[info.owner] & RIP_ENTRY_ADDRESS_MASK));
    }
    __atomic_store_n(&marking.enough, true, __ATOMIC_RELAXED);
    join_thread(thread);
}
