/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_single_step.c - a snap interrupted by a handler that snaps, before each of its instructions.
 *
 * The trap flag makes the CPU raise SIGTRAP after every instruction. The handler counts instructions, and makes k snaps
 * at the chosen one. Every instruction is tried with every k. amd64 only.
 *
 *   A. The count never decreases, at any instruction, and in the end it is exactly 1 + k higher.
 *   B. The newest entry that a reader gets is the snap of thread or handler that finished last, or, where the handler
 *      overwrote that entry by wrapping the whole trail, the one before.
 *   C. The test can detect a violation: a counter that does "load, store entry, store count + 1" must show some.
 *
 * Built without a red zone, because the flag is set through the stack.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <librip.h>
#include <rip/reader.h>

#include "support/test.h"

#define STEPS_MAX 400 /* sanitizers add instructions */
#define TRAP_ON() __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc")
#define TRAP_OFF() __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc")

enum subject { SUBJECT_SNAP, SUBJECT_SNAP_AT, SUBJECT_IDLE, SUBJECT_LOAD_STORE };

/* What the handler does, and what it has seen. */
static struct {
    int step;      /* instructions so far */
    int at;        /* snap before this instruction; -1 = never */
    int snaps;     /* number of snaps */
    uint64_t last; /* the count at the last instruction */
    int went_back; /* times that the count decreased */
} trap;

static struct rip_view view;
static const uintptr_t marked_address = 0x123456;

static __attribute__((noinline)) void snap_many(int count)
{
    for (int i = 0; i < count; i++)
        rip_snap();
}

static void on_trap(int number, siginfo_t *info, void *context)
{
    uint64_t count = rip__thread.slot != NULL ? rip_load_relaxed(&rip__thread.slot->count) : trap.last;

    (void)number;
    (void)info;
    (void)context;
    trap.went_back += count < trap.last;
    trap.last = count;
    if (trap.step++ == trap.at) {
        snap_many(trap.snaps);
        if (rip__thread.slot != NULL)
            trap.last = rip_load_relaxed(&rip__thread.slot->count);
    }
}

/* The control: a simple counter. */
static inline __attribute__((always_inline)) void load_store_snap(void)
{
    struct rip_slot *slot = rip__thread.slot;
    uint64_t count = rip_load_relaxed(&slot->count);

    rip_store_relaxed(&slot->entry[(count + 1) % RIP_ENTRY_COUNT],
                      ((count + 1) << RIP_ENTRY_TAG_SHIFT) | (uint64_t)marked_address);
    rip_store_relaxed(&slot->count, count + 1);
}

static __attribute__((noinline)) void run_stepped(enum subject subject)
{
    switch (subject) {
    case SUBJECT_SNAP:
        TRAP_ON();
        rip_snap();
        TRAP_OFF();
        break;
    case SUBJECT_SNAP_AT:
        TRAP_ON();
        rip_snap_at((const void *)marked_address);
        TRAP_OFF();
        break;
    case SUBJECT_IDLE:
        TRAP_ON();
        rip_idle();
        TRAP_OFF();
        break;
    case SUBJECT_LOAD_STORE:
        TRAP_ON();
        load_store_snap();
        TRAP_OFF();
        break;
    }
}

/*
 * Runs one subject on a new id that has made `before` snaps, interrupted by `snaps` snaps before instruction `at`.
 * Returns the number of instructions.
 */
static int run_once(enum subject subject, int before, int at, int snaps)
{
    rip_exit();
    rip_init(7, "stepped", 7, 0, 0);
    assert_non_null(rip__thread.slot);
    for (int i = 0; i < before; i++)
        rip_snap_at((const void *)0x777);
    trap.step = 0;
    trap.at = at;
    trap.snaps = snaps;
    trap.went_back = 0;
    trap.last = rip_load_relaxed(&rip__thread.slot->count);
    run_stepped(subject);
    return trap.step;
}

static const int handler_snaps[] = {1, 2, 5, 31, 32, 33, 64, 255, 256, 257};
static const int snaps_before[] = {0, 1, 31, 32, 255};

/* The entries that a reader gets. */
static size_t read_trail(struct rip_entry *entries)
{
    struct rip_scan_position position = {0};
    struct rip_sample sample;
    size_t count;

    assert_int_equal(rip_view_scan(&view, &position, &sample, 1), 1);
    assert_int_equal(rip_view_trail(&view, sample.slot, entries, &count), RIP_OK);
    return count;
}

static void check_newest(enum subject subject, int before, int snaps, int at, int steps)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    size_t count = read_trail(entries);
    uint64_t total = (uint64_t)before + 1 + (uint64_t)snaps;
    bool wrapped = snaps % (int)RIP_ENTRY_COUNT == 0;

    assert_true(count >= 1);
    assert_true(entries[0].snap == total || (wrapped && entries[0].snap == total - 1));
    assert_int_not_equal(entries[0].address, 0x777); /* never older than the snap and its handler */
    for (size_t i = 1; i < count; i++)
        assert_true(entries[i].snap < entries[i - 1].snap);
    if (subject != SUBJECT_SNAP_AT)
        return;
    if (at == 0) /* the handler ran before the snap */
        assert_int_equal(entries[0].address, marked_address);
    if (at == steps - 1) /* the handler ran after the snap */
        assert_int_not_equal(entries[0].address, marked_address);
}

static void check_subject(enum subject subject, unsigned *ret_boundaries)
{
    int steps = run_once(subject, 0, -1, 0);

    assert_in_range(steps, 8, STEPS_MAX);
    *ret_boundaries = 0;
    for (size_t b = 0; b < COUNT_OF(snaps_before); b++)
        for (size_t k = 0; k < COUNT_OF(handler_snaps); k++)
            for (int at = 0; at < steps; at++) {
                int before = snaps_before[b], snaps = handler_snaps[k];

                run_once(subject, before, at, snaps);
                assert_int_equal(trap.went_back, 0);
                assert_int_equal(rip_load_relaxed(&rip__thread.slot->count), before + 1 + snaps);
                check_newest(subject, before, snaps, at, steps);
                rip_snap(); /* the globals are correct after the next snap */
                assert_int_equal(rip_idx, (uint8_t)(before + 2 + snaps));
                assert_int_equal(rip_ctr, (uint8_t)(before + 2 + snaps));
                ++*ret_boundaries;
            }
}

TEST(inlined_snap)
{
    unsigned boundaries;

    check_subject(SUBJECT_SNAP, &boundaries);
    print_message("inlined snap: %u interruptions\n", boundaries);
}

TEST(snap_at)
{
    unsigned boundaries;

    check_subject(SUBJECT_SNAP_AT, &boundaries);
    print_message("rip_snap_at: %u interruptions\n", boundaries);
}

/* Interrupted anywhere except after its last check, rip_idle() still marks the id idle. */
TEST(idle)
{
    int steps = run_once(SUBJECT_IDLE, 3, -1, 0), busy = 0;

    for (int at = 0; at < steps; at++) {
        struct rip_scan_position position = {0};
        struct rip_sample sample;

        run_once(SUBJECT_IDLE, 3, at, 1);
        assert_int_equal(rip_view_scan(&view, &position, &sample, 1), 1);
        if (sample.idle)
            assert_int_equal(busy, 0); /* after the first late one all are late */
        else
            busy++;
    }
    assert_in_range(busy, 1, 8); /* load, compare, jump, and five in TRAP_OFF() */
    assert_true(busy < steps / 2);
}

/* Interrupted anywhere, rip_switch() leaves globals that match the count of the id. */
TEST(switch)
{
    struct rip_context stepped, other;
    struct rip_slot *slot;
    int steps = 1;

    assert_true(rip_context_init(&other, 8, "other", 5));
    for (int at = 0; at < steps; at++) {
        run_once(SUBJECT_SNAP, 3, -1, 0);
        slot = rip__thread.slot;
        trap.step = 0;
        trap.at = at;
        trap.snaps = 1;
        TRAP_ON();
        rip_switch(&stepped, &other);
        TRAP_OFF();
        steps = trap.step;
        assert_int_equal(stepped.ctr, (uint8_t)rip_load_relaxed(&slot->count));
        assert_int_equal(stepped.idx, (uint8_t)rip_load_relaxed(&slot->count));
        rip_switch(&other, &stepped);
    }
    assert_in_range(steps, 20, STEPS_MAX);
    rip_context_exit(&other);
}

TEST(control_fails)
{
    int steps = run_once(SUBJECT_LOAD_STORE, 0, -1, 0), violations = 0;

    for (int at = 0; at < steps; at++) {
        run_once(SUBJECT_LOAD_STORE, 0, at, 5);
        violations += rip_load_relaxed(&rip__thread.slot->count) != 6;
    }
    print_message("control: %d violations at %d boundaries\n", violations, steps);
    assert_true(violations > 0);
}

static int set_up(void **state)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    char path[64];

    (void)state;
    snprintf(path, sizeof(path), "/dev/shm/rip-single-step.%d", getpid());
    if (!rip_create_ring(path, 64))
        return -1;
    unlink(path);
    return rip_view_open(&view, rip_ring, rip_ring->file_bytes) == RIP_OK ? sigaction(SIGTRAP, &action, NULL) : -1;
}

int main(void)
{
#if !defined(__x86_64__) || defined(RIP_PORTABLE_SNAP)
    puts("skipped: needs the amd64 form of the snap");
    return 77;
#endif
    return tests_run(set_up, NULL);
}
