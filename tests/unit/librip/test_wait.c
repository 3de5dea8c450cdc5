/* SPDX-License-Identifier: Apache-2.0 */
/* test_wait.c - marks of waits for locks, as librip/thread.c makes them and rip_view_wait() copies them. */
#include <sched.h>
#include <time.h>

#include "unit/ring_scene.h"

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
    begin_traced(7, "seven");
}

static enum rip_status copy(struct rip_wait_info *ret_info)
{
    return rip_view_wait(own_view(), slot_index(rip__thread.slot), ret_info);
}

static bool is_marked(void)
{
    struct rip_wait_info info;

    return copy(&info) == RIP_OK;
}

SCENE(a_mark_is_copied_whole)
{
    uint64_t before_ns = now_ns();
    struct rip_wait_info info;

    enter_ring();
    rip_snap();
    owner = 4711;
    rip_wait_begin(lock, &owner, RIP_WAIT_SHARABLE | RIP_WAIT_ENDS);
    CHECK(copy(&info) == RIP_OK);
    CHECK(info.slot == slot_index(rip__thread.slot) && info.generation == rip__thread.slot->generation);
    CHECK(info.id == 7 && info.tid == (uint32_t)gettid() && info.process == 0);
    CHECK(info.flags == (RIP_WAIT_SHARABLE | RIP_WAIT_ENDS) && info.owner == 4711 && info.progress == 1);
    CHECK(info.address == ((uintptr_t)lock & RIP_ENTRY_ADDRESS_MASK));
    CHECK(info.seen_mono_ns >= before_ns && info.seen_mono_ns <= now_ns());
    CHECK(info.begun_mono_ns == info.seen_mono_ns);
}

SCENE(an_end_and_a_snap_end_it)
{
    struct rip_wait_info info = {.slot = 99};

    enter_ring();
    CHECK(copy(&info) == RIP_NOT_LIVE && info.slot == 99);
    rip_wait_begin(lock, &owner, 0);
    CHECK(is_marked());
    rip_wait_end();
    CHECK(!is_marked());
    rip_wait_begin(lock, &owner, 0);
    rip_snap();
    CHECK(!is_marked());
    rip_wait_begin(lock, &owner, 0);
    begin_id(7, "other"); /* fresh */
    CHECK(!is_marked());
}

SCENE(idleness_and_waits_replace_each_other)
{
    enter_ring();
    rip_snap();
    rip_idle();
    rip_wait_begin(lock, &owner, 0);
    CHECK(is_marked() && rip__thread.slot->idle_mark != ~rip__thread.slot->count);
    rip_idle();
    CHECK(!is_marked() && rip__thread.slot->idle_mark == ~rip__thread.slot->count);
    rip_wait_end(); /* of a wait that is no more: the idleness stays */
    CHECK(rip__thread.slot->idle_mark == ~rip__thread.slot->count);
}

SCENE(a_look_reads_the_owner_again_and_knows_how_old_the_wait_is)
{
    struct rip_wait_info first, second;

    enter_ring();
    owner = 1;
    rip_wait_begin(lock, &owner, RIP_WAIT_SHARABLE);
    CHECK(copy(&first) == RIP_OK);
    rip__thread.slot->idle_mark -= UINT64_C(3500000000); /* as if it had begun so long ago */
    owner = 2;
    rip_wait_look(&owner);
    CHECK(copy(&second) == RIP_OK && second.owner == 2 && second.flags == RIP_WAIT_SHARABLE);
    CHECK(second.seen_mono_ns > first.seen_mono_ns);
    CHECK(second.seen_mono_ns - second.begun_mono_ns == UINT64_C(3000000000)); /* whole seconds, never too many */
    rip__thread.slot->idle_mark -= UINT64_C(2500000000);
    rip_wait_look(&owner);
    CHECK(copy(&second) == RIP_OK && second.seen_mono_ns - second.begun_mono_ns == UINT64_C(5000000000));
    rip__thread.slot->wait_age_s = 254; /* the clock of a machine that was just booted cannot go back so far */
    rip__thread.slot->idle_mark -= UINT64_C(2500000000);
    rip_wait_look(NULL);
    CHECK(copy(&second) == RIP_OK && second.owner == 0 && rip__thread.slot->wait_age_s == 255);
}

static uint32_t *far_owner; /* in a page that cannot be read at first */
static bool was_marked;

static void let_read(int number)
{
    (void)number;
    was_marked = is_marked();
    if (mprotect(far_owner, 4096, PROT_READ) != 0)
        _exit(3);
}

/* Who looks while the owner is being read sees no mark: neither the one before nor a part of the next. */
SCENE(a_mark_is_void_while_it_is_made)
{
    enter_ring();
    far_owner = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(far_owner != MAP_FAILED && signal(SIGSEGV, let_read) != SIG_ERR);
    rip_wait_begin(lock, &owner, 0);
    was_marked = true;
    rip_wait_begin(lock + 1, far_owner, 0);
    CHECK(!was_marked && is_marked());
    was_marked = true;
    CHECK(mprotect(far_owner, 4096, PROT_NONE) == 0);
    rip_wait_look(far_owner);
    CHECK(!was_marked && is_marked());
}

/* As a signal handler does that snaps: from then on nothing is known of how old the wait is. */
SCENE(a_look_after_a_snap_begins_anew)
{
    struct rip_wait_info info;

    enter_ring();
    rip_wait_begin(lock, &owner, 0);
    rip__thread.slot->wait_age_s = 9;
    rip_snap();
    CHECK(!is_marked());
    rip_wait_look(&owner);
    CHECK(copy(&info) == RIP_OK && info.begun_mono_ns == info.seen_mono_ns);
    CHECK(info.address == ((uintptr_t)lock & RIP_ENTRY_ADDRESS_MASK));
}

SCENE(no_two_marks_have_one_time)
{
    uint64_t last_ns = 0;

    enter_ring();
    for (unsigned i = 0; i < 1000; i++) {
        rip_wait_begin(lock, &owner, 0);
        CHECK(rip__thread.slot->idle_mark > last_ns);
        last_ns = rip__thread.slot->idle_mark;
    }
    rip__thread.slot->idle_mark = last_ns + UINT64_C(1000000000); /* a clock that lags */
    rip_wait_begin(lock, &owner, 0);
    CHECK(rip__thread.slot->idle_mark == last_ns + UINT64_C(1000000001));
}

SCENE(a_coroutine_keeps_its_mark_on_no_thread)
{
    struct rip_context here, there;
    struct rip_wait_info info;
    uint32_t slot;

    enter_ring();
    slot = slot_index(rip__thread.slot);
    CHECK(rip_context_init(&there, 8, "eight", 5));
    owner = 8;
    rip_wait_begin(lock, &owner, RIP_WAIT_OWNER_IS_ID | RIP_WAIT_OWNER_LASTS);
    rip_switch(&here, &there);
    rip_wait_end(); /* of the other one, which has none */
    CHECK(rip_view_wait(own_view(), slot, &info) == RIP_OK);
    CHECK(info.tid == 0 && info.owner == 8 && info.flags == (RIP_WAIT_OWNER_IS_ID | RIP_WAIT_OWNER_LASTS));
    rip_switch(&there, &here);
    CHECK(is_marked());
}

SCENE(nothing_without_an_id)
{
    rip_wait_begin(lock, &owner, 0);
    rip_wait_look(&owner);
    rip_wait_end();
    errno = 77;
    enter_ring();
    errno = 77;
    rip_wait_begin(lock, &owner, 0);
    rip_wait_look(&owner);
    rip_wait_end();
    CHECK(errno == 77);
}

/* The child goes on in the same wait; the mark in its parent's slot is not its own. */
SCENE(a_child_leaves_its_parents_mark_alone)
{
    enter_ring();
    owner = 5;
    rip_wait_begin(lock, &owner, 0);
    if (in_child(fork())) {
        owner = 6;
        rip_wait_look(&owner);
        rip_wait_end();
        CHECK(rip__thread.slot == NULL);
        _exit(0);
    }
    CHECK(is_marked() && rip__thread.slot->wait_owner == 5);
}

enum { COPIES = 20000 };

/* Shared with the thread that marks. */
struct marking {
    struct rip_slot *slot;
    bool enough;
};

/* Marks in which address, owner and flags belong together, until there were enough copies of them. */
static void *marks(void *argument)
{
    struct marking *marking = argument;

    begin_id(0, "marks");
    __atomic_store_n(&marking->slot, rip__thread.slot, __ATOMIC_RELEASE);
    for (uint32_t i = 0; !__atomic_load_n(&marking->enough, __ATOMIC_RELAXED); i++) {
        uint32_t which = i % 2;

        rip_wait_begin(&lock[which], &which, which * RIP_WAIT_SHARABLE);
        if (i % 3 == 0)
            rip_wait_look(&which);
        if (i % 64 == 0)
            sched_yield(); /* one processor is enough */
    }
    return NULL;
}

SCENE(a_copy_is_never_of_two_marks)
{
    struct marking marking = {NULL, false};
    pthread_t thread;

    enter_ring();
    thread = begin_thread(marks, &marking);
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
    end_thread(thread);
}
