/* SPDX-License-Identifier: Apache-2.0 */
/* test_ended.c - ended ids: the log, the data in their slots, the order in which slots are reused, and rip_flush(). */
#include "unit/writer_test.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

/* Registers an id, makes snaps, and ends it. Returns its slot. */
static uint32_t register_and_exit(uint32_t id, unsigned snap_count)
{
    uint32_t slot;

    register_traced(id, "short");
    slot = own_slot_index();
    for (unsigned i = 1; i <= snap_count; i++)
        rip_snap_at((const void *)(uintptr_t)(id * UINT64_C(1000) + i));
    rip_exit();
    return slot;
}

static struct rip_ring_info ring_info(void)
{
    struct rip_ring_info info;

    rip_view_info(own_view(), &info);
    CHECK(info.counts_ended == 1 && info.ended_settled == 1);
    return info;
}

/* Returns the entry of the log with this number. */
static struct rip_ended ended_at(uint64_t number)
{
    struct rip_ended ended;
    uint64_t next;

    CHECK(rip_view_ended(own_view(), number, &ended, 1, &next) == 1 && next == number + 1);
    CHECK(ended.number == number);
    return ended;
}

/* The log ---------------------------------------------------------------------------------------------------------- */

FORKED_TEST(ends_are_logged_in_order)
{
    enum { IDS = 3 * RIP_ENDED_COUNT + 7 };
    static struct rip_ended ended[IDS];
    uint32_t slots[IDS];
    uint64_t next = 9;

    make_ring(1000);
    CHECK(rip_view_ended(own_view(), 0, ended, IDS, &next) == 0 && next == 0);
    for (uint32_t i = 0; i < IDS; i++) {
        slots[i] = register_and_exit(i + 1, i % 5);
        CHECK(ended_at(i).slot == slots[i]);
    }
    CHECK(rip_view_ended(own_view(), 0, ended, IDS, &next) == RIP_ENDED_COUNT && next == IDS);
    for (uint32_t i = 0; i < RIP_ENDED_COUNT; i++) {
        uint64_t number = IDS - RIP_ENDED_COUNT + i;

        CHECK(ended[i].number == number && ended[i].slot == slots[number]);
    }
    CHECK(rip_view_ended(own_view(), IDS - 10, ended, 4, &next) == 4 && next == IDS - 6);
    CHECK(rip_view_ended(own_view(), next, ended, 40, &next) == 6 && next == IDS);
    CHECK(rip_view_ended(own_view(), IDS + 5, ended, 40, &next) == 0 && next == IDS);
}

FORKED_TEST(data_of_ended_ids_stays_readable)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_note_info note;
    struct rip_id_info info;
    struct rip_ended ended;
    size_t count;

    make_ring(1000);
    register_id(7, "seven");
    rip_note("the last words", 14);
    for (unsigned i = 1; i <= 40; i++)
        rip_snap_at((const void *)(uintptr_t)i);
    rip_exit();
    ended = ended_at(0);
    CHECK(rip_view_id(own_view(), ended.slot, &info) == RIP_NOT_LIVE);
    for (uint32_t id = 100; id < 99 + RIP_ENDED_COUNT; id++)
        CHECK(register_and_exit(id, 1) != ended.slot);
    CHECK(rip_view_ended_id(own_view(), ended.slot, ended.generation, &info) == RIP_OK);
    CHECK(info.id == 7 && info.snap_count == 40 && info.name_bytes == 5 && memcmp(info.name, "seven", 5) == 0);
    CHECK(rip_view_ended_trail(own_view(), ended.slot, ended.generation, entries, &count) == RIP_OK);
    CHECK(count == 32 && entries[0].snap == 40 && entries[0].address == 40 && entries[31].address == 9);
    CHECK(rip_view_ended_note(own_view(), ended.slot, ended.generation, &note) == RIP_OK);
    CHECK(note.text_bytes == 14 && memcmp(note.text, "the last words", 14) == 0);
    CHECK(rip_view_ended_id(own_view(), ended.slot, ended.generation + 2, &info) == RIP_NOT_LIVE);

    register_and_exit(500, 1);
    CHECK(register_and_exit(501, 1) == ended.slot); /* the log no longer names this slot */
    CHECK(rip_view_ended_id(own_view(), ended.slot, ended.generation, &info) == RIP_NOT_LIVE);
    CHECK(rip_view_ended_trail(own_view(), ended.slot, ended.generation, entries, &count) == RIP_NOT_LIVE);
    CHECK(rip_view_ended_note(own_view(), ended.slot, ended.generation, &note) == RIP_NOT_LIVE);
}

/* Order of reuse --------------------------------------------------------------------------------------------------- */

/* In a small ring every slot is reused, oldest end first, and no id is refused. */
FORKED_TEST(slots_are_reused_oldest_first)
{
    make_ring(64);
    register_ids(1, 64);
    for (uint32_t i = 0; i < 64; i++) { /* end the ids in another order than they began */
        rip_init(1 + i * 37 % 64, NULL, 0, 1, 1);
        rip_exit();
    }
    for (uint32_t i = 0; i < 1000; i++)
        CHECK(register_and_exit(1000 + i, 1) == i % 64 * 37 % 64);
    CHECK(ring_info().refused_full_count == 0);
}

/* A free slot that the log still names is not reused while the log has forgotten another free slot. */
FORKED_TEST(logged_slots_are_not_reused)
{
    make_ring(1024);
    register_ids(1, 1024);
    for (uint32_t id = 1; id <= 10; id++) { /* ten free slots, all named by the log */
        resume_id(id);
        rip_exit();
    }
    CHECK(register_and_exit(2000, 1) == 0);
    for (uint32_t id = 11; id <= 11 + 300; id++) {
        resume_id(id);
        rip_exit();
    }
    register_id(2001, "x");
    for (uint64_t number = ring_info().ended_count - RIP_ENDED_COUNT; number < ring_info().ended_count; number++)
        CHECK(ended_at(number).slot != own_slot_index());
}

/* Under a seccomp filter the same order holds among the slots that were reserved before. */
FORKED_TEST(reserved_slots_are_reused_oldest_first)
{
    enum { SLOTS = 192 };
    uint32_t slot;

    make_ring(1000);
    register_id(1, "main");
    rip__slot_reserve(SLOTS - 1); /* three bitmap words; one slot is already taken */
    rip__writer.filtered = true;
    for (uint32_t i = 0; i < 5 * SLOTS; i++) {
        slot = register_and_exit(1000 + i, 1);
        CHECK(slot == 1 + i % (SLOTS - 1));
    }
    CHECK(ring_info().refused_full_count == 0);
}

/* The number of slots in use is bounded by the live ids plus the length of the log. */
FORKED_TEST(slots_stay_dense)
{
    make_ring(100000);
    for (uint32_t i = 0; i < 5000; i++)
        CHECK(register_and_exit(1 + i, 1) <= RIP_ENDED_COUNT);
    register_ids(10000, 10499);
    for (uint32_t i = 0; i < 5000; i++)
        CHECK(register_and_exit(1 + i, 1) <= 500 + RIP_ENDED_COUNT);
}

/* A free slot whose generation changed because a killed process had claimed it is used last, but is not lost. */
FORKED_TEST(claimed_slot_is_not_lost)
{
    make_ring(64);
    for (uint32_t id = 1; id <= 64; id++)
        register_and_exit(id, 1);
    for (uint32_t slot = 0; slot < 64; slot++)
        rip__slot_at(slot)->generation += slot == 5 ? 2 : 0;
    for (uint32_t id = 1; id <= 64; id++) {
        register_traced(id, "x");
        CHECK((own_slot_index() == 5) == (id == 64));
    }
}

/* One writer is killed after it logged an end and before it counted it, another before it logged anything. */
FORKED_TEST(writers_killed_while_logging)
{
    struct rip_ring_info info;

    make_ring(64);
    register_and_exit(1, 1);
    rip_add_relaxed(&rip_ring->ended_begun_count, 1);
    rip_ring->ended[1] = UINT64_C(2) << RIP_ENDED_GENERATION_SHIFT | UINT64_C(1) << RIP_ENDED_LAP_SHIFT | 40;
    register_and_exit(2, 1);
    CHECK(ended_at(1).slot == 40 && ended_at(2).slot == 1 && ring_info().ended_count == 3);
    rip_add_relaxed(&rip_ring->ended_begun_count, 1);
    register_and_exit(3, 1);
    CHECK(ended_at(3).slot == 2);
    rip_view_info(own_view(), &info);
    CHECK(info.ended_count == 4 && info.ended_settled == 0);
}

/* Many processes --------------------------------------------------------------------------------------------------- */

enum { PROCESSES = 4, ROUNDS = 4000 };

/*
 * Reads the new entries of the log. Each has a new generation, and no slot is logged twice within the length of the
 * log.
 */
static void check_new_ends(uint64_t *next, uint64_t last_end[], struct rip_ended *newest)
{
    struct rip_ended ended[RIP_ENDED_COUNT];
    size_t count = rip_view_ended(own_view(), *next, ended, RIP_ENDED_COUNT, next);

    for (size_t i = 0; i < count; i++) {
        uint64_t *last = &last_end[ended[i].slot];

        CHECK(*last == 0 || ended[i].number - (*last - 1) > RIP_ENDED_COUNT);
        *last = ended[i].number + 1;
        CHECK(ended[i].generation != newest[ended[i].slot].generation && ended[i].generation % 2 == 0);
        newest[ended[i].slot] = ended[i];
    }
}

/*
 * Processes end ids concurrently. No end and no snap is lost or counted twice, and a reader that follows the log sees
 * only valid entries.
 */
FORKED_TEST(many_processes_end_ids)
{
    static uint64_t last_end[1024];
    static struct rip_ended newest[1024];
    uint64_t expected = 0, next = 0;
    struct rip_ring_info info;

    make_ring(1000);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        if (fork() == 0) {
            for (uint32_t round = 0; round < ROUNDS; round++)
                register_and_exit(1 + round, (round + i) % 7);
            _exit(0);
        }
        for (uint32_t round = 0; round < ROUNDS; round++)
            expected += (round + i) % 7;
    }
    do {
        sched_yield();
        check_new_ends(&next, last_end, newest);
        rip_view_info(own_view(), &info);
    } while (info.ended_count < PROCESSES * ROUNDS);
    for (unsigned i = 0; i < PROCESSES; i++)
        CHECK(exit_status_of(-1) == 0);
    info = ring_info();
    CHECK(info.ended_count == PROCESSES * ROUNDS && info.registered_count == info.ended_count);
    CHECK(info.ended_snap_count == expected && made_count(own_view()) == expected);
}

/* A sweep ends the ids of a killed process; their contents stay readable. */
FORKED_TEST(swept_ids_have_ended)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_ended ended;
    size_t count;

    make_ring_with_id(64);
    if (in_killed_child()) {
        for (uint32_t id = 1; id <= 63; id++) {
            register_id(id, "child");
            rip_snap_at((const void *)(uintptr_t)(1000 + id));
        }
        rip__thread.slot->generation |= 1; /* killed while the id was being renamed */
        die();
    }
    CHECK(ring_info().ended_count == 0 && own_live_count() == 63);
    register_traced(2, "two");
    CHECK(ring_info().ended_count == 63 && ring_info().ended_snap_count == 62);
    ended = ended_at(9);
    CHECK(rip_view_ended_trail(own_view(), ended.slot, ended.generation, entries, &count) == RIP_OK);
    CHECK(count == 1 && entries[0].address == 1010);
    for (uint32_t id = 3; id <= 64; id++)
        register_traced(id, "parent");
    register_id(65, "refused");
    CHECK(rip__thread.slot == NULL && rip_ring->refused_full_count == 1);
}

/* A process that leaves in order ends its ids. A fork ends none. */
FORKED_TEST(exit_ends_ids_and_fork_does_not)
{
    make_ring_with_id(64);
    rip_snap();
    if (in_child()) {
        rip_snap(); /* not counted: the child has no id */
        register_id(2, "two");
        rip_snap();
        CHECK(ring_info().ended_count == 0 && made_count(own_view()) == 2);
        rip__leave(false);
        CHECK(ring_info().ended_count == 1 && ring_info().ended_snap_count == 1);
        _exit(0);
    }
    rip_snap();
    CHECK(ring_info().ended_count == 1 && made_count(own_view()) == 3);
}

/* How many snaps --------------------------------------------------------------------------------------------------- */

FORKED_TEST(snaps_are_counted)
{
    make_ring(64);
    register_and_exit(1, 300);
    CHECK(ring_info().ended_count == 1 && ring_info().ended_snap_count == 300);
    rip_init(2, "two", 3, 77, 200); /* any initial counter */
    rip_snap();
    rip_init(2, NULL, 0, 3, 9); /* any counter at a resume */
    rip_snap();
    CHECK(ring_info().ended_count == 1);
    register_id(2, "two"); /* a new registration */
    CHECK(ring_info().ended_count == 2 && ring_info().ended_snap_count == 302);
    rip_snap();
    CHECK(made_count(own_view()) == 303);
    rip_exit();
    CHECK(ring_info().ended_count == 3 && ring_info().ended_snap_count == 303);
    CHECK(ended_at(1).slot == ended_at(2).slot && ended_at(1).generation != ended_at(2).generation);
}

/* Sums while ids end ---------------------------------------------------------------------------------------------- */

enum { CHURNERS = 4, SUMS = 300 };

static uint64_t snaps_begun, snaps_done;
static bool churn_is_over;

static void *register_snap_and_exit(void *number)
{
    for (uint32_t id = 1; !rip_load_relaxed(&churn_is_over); id++) {
        rip_init((uint32_t)(uintptr_t)number << 24 | id, "x", 1, 0, 0);
        CHECK(rip__thread.slot != NULL);
        for (uint32_t i = 0; i < id % 9; i++) {
            rip_add_relaxed(&snaps_begun, 1);
            rip_snap();
            rip_add_release(&snaps_done, 1); /* pairs with the acquire in sum_up() */
        }
        if (id % 5 == 0) /* a new registration */
            rip_init((uint32_t)(uintptr_t)number << 24 | id, "x", 1, 0, 0);
        rip_exit();
    }
    return NULL;
}

/*
 * Adds up snaps as in 2.6 of librip/ABI.md. Returns false if the log does not reach back far enough, or an end is in
 * progress.
 */
static bool sum_up(const struct rip_view *view, uint64_t *ret_made)
{
    struct rip_ended ended[RIP_ENDED_COUNT];
    struct rip_sample samples[256];
    struct rip_scan_position position = {0};
    struct rip_ring_info before, info;
    size_t sample_count, ended_count;
    uint64_t next;

    rip_view_info(view, &before);
    sample_count = rip_view_scan(view, &position, samples, 256);
    rip_view_info(view, &info);
    if (!info.ended_settled || info.ended_count - before.ended_count > RIP_ENDED_COUNT / 2)
        return false;
    ended_count = rip_view_ended(view, before.ended_count, ended, info.ended_count - before.ended_count, &next);
    if (ended_count != info.ended_count - before.ended_count)
        return false;
    *ret_made = info.ended_snap_count;
    for (size_t i = 0; i < sample_count; i++) {
        bool has_ended = false;

        for (size_t j = 0; j < ended_count; j++)
            has_ended |= ended[j].slot == samples[i].slot && ended[j].generation == samples[i].generation;
        if (!has_ended)
            *ret_made += samples[i].progress - samples[i].counter_bias;
    }
    return true;
}

FORKED_TEST(sum_of_snaps_is_exact_while_ids_end)
{
    pthread_t threads[CHURNERS];
    unsigned sums = 0;

    make_ring(1000);
    for (uintptr_t i = 0; i < CHURNERS; i++)
        threads[i] = start_thread(register_snap_and_exit, (void *)(i + 1));
    while (sums < SUMS) {
        uint64_t made = 0, least = rip_load_acquire(&snaps_done);

        if (sum_up(own_view(), &made)) {
            CHECK(made >= least);
            rip_fence_acquire();
            CHECK(made <= rip_add_relaxed(&snaps_begun, 0));
            sums++;
        } else {
            sched_yield();
        }
    }
    rip_store_relaxed(&churn_is_over, true);
    for (unsigned i = 0; i < CHURNERS; i++)
        join_thread(threads[i]);
    CHECK(made_count(own_view()) == snaps_done && snaps_done == snaps_begun);
}

/* rip_flush() ------------------------------------------------------------------------------------------------------ */

/* rip_flush() wakes a process that waits on a read-only mapping. */
FORKED_TEST(flush_wakes)
{
    int ready[2];
    pid_t pid;

    rip_flush();
    make_ring(64);
    CHECK(pipe(ready) == 0);
    pid = fork();
    if (pid == 0) {
        int descriptor = open(rip__writer.path, O_RDONLY);
        const struct rip_ring *ring = mmap(NULL, RIP_PAGE_BYTES, PROT_READ, MAP_SHARED, descriptor, 0);

        CHECK(ring != MAP_FAILED);
        signal_pipe(ready);
        while (rip_load_acquire(&ring->flush_count) == 0)
            CHECK(syscall(SYS_futex, &ring->flush_count, FUTEX_WAIT, 0, NULL, NULL, 0) == 0 || errno == EAGAIN ||
                  errno == EINTR);
        _exit(0);
    }
    await_pipe(ready);
    sleep_ms(50); /* the child probably waits by now */
    errno = 77;
    rip_flush();
    CHECK(errno == 77 && ring_info().flush_count == 1);
    CHECK(exit_status_of(pid) == 0);
}

/* The program's seccomp filter may kill it for any system call, so rip_flush() makes none. */
FORKED_TEST(flush_makes_no_system_call_under_a_filter)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {COUNT_OF(code), code};

    make_ring(64);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        skip_test("seccomp filters cannot be installed");
    rip__writer.filtered = true;
    rip_flush();
    CHECK(ring_info().flush_count == 1);
}
