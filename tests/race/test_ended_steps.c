/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ended_steps.c - the end of an id, interrupted before each instruction. test_single_step.c explains the method.
 *
 *   A. A reader that adds up snaps at any instruction gets the correct sum, or sees that an end is in progress.
 *   B. Other writers may end more ids than the log holds, at any instruction; the log stays consistent.
 *   C. A writer that is killed at any instruction blocks nobody: later ends are logged, and no slot is lost.
 *
 * amd64 only. Built without a red zone, because the trap flag is set through the stack.
 */
#include "unit/writer_test.h"

#include <ucontext.h>

#define TRAP_ON() __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc")
#define TRAP_OFF() __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc")

enum { TRAP_FLAG = 0x100 };
enum { BYSTANDER_SNAPS = 3, SNAPS = 5, RUNS_MAX = 200, OTHERS_SLOT = 500 };

/* The handler calls act before instruction `at` and then stops stepping; -1 = before every instruction. */
static struct {
    void (*act)(void);
    int at;
    int step;
} trap;

static void on_trap(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;

    (void)number;
    (void)info;
    if (trap.at == -1 || trap.step == trap.at)
        trap.act();
    if (trap.step == trap.at)
        interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    trap.step++;
}

static void make_stepped_ring(uint32_t max_procs)
{
    struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};

    make_ring(max_procs);
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
}

static void snap(unsigned times)
{
    for (unsigned i = 0; i < times; i++)
        rip_snap();
}

/* Ends id 7, or registers it again, and calls act at the instruction. Returns the number of instructions. */
static int step_through(bool anew, void (*act)(void), int at)
{
    const struct rip_identity identity = {.id = 7, .tid = 1, .name = "stepped", .name_bytes = 7};
    uint32_t slot;

    register_traced(7, "stepped");
    snap(SNAPS);
    slot = own_slot_index();
    rip__thread.slot = NULL;
    trap.act = act;
    trap.at = at;
    trap.step = 0;
    if (anew) {
        TRAP_ON();
        rip__slot_restart(slot, &identity);
        TRAP_OFF();
    } else {
        rip__table_remove(7);
        TRAP_ON();
        rip__slot_free(slot);
        TRAP_OFF();
    }
    return trap.step;
}

static void do_nothing(void)
{
}

/* A ---------------------------------------------------------------------------------------------------------------- */

static uint64_t made; /* the correct sum */
static unsigned right, unsettled;

static void add_up(void)
{
    struct rip_scan_position position = {0};
    struct rip_ring_info info;
    struct rip_sample sample;
    struct rip_ended newest = {0};
    uint64_t total = 0, next;

    rip_view_info(&rip__writer.view, &info);
    if (info.ended_count != 0)
        CHECK(rip_view_ended(&rip__writer.view, info.ended_count - 1, &newest, 1, &next) == 1);
    while (rip_view_scan(&rip__writer.view, &position, &sample, 1) == 1) {
        CHECK(sample.slot != newest.slot || sample.generation != newest.generation); /* an ended id is not live */
        total += sample.progress - sample.counter_bias;
    }
    if (!info.ended_settled) {
        unsettled++;
    } else if (position.left_out_count == 0) {
        CHECK(info.ended_snap_count + total == made);
        right++;
    }
}

FORKED_TEST(sums_are_right_at_every_instruction)
{
    make_stepped_ring(64);
    register_id(1, "bystander");
    snap(BYSTANDER_SNAPS);
    made = BYSTANDER_SNAPS + SNAPS;
    step_through(false, add_up, -1);
    CHECK(right >= 5 && unsettled >= 5);
    right = unsettled = 0;
    made += SNAPS;
    step_through(true, add_up, -1);
    CHECK(right >= 5 && unsettled >= 5);
}

/* B ---------------------------------------------------------------------------------------------------------------- */

static unsigned others; /* ids that other writers end, with one snap each */

static void others_end(void)
{
    for (uint32_t i = 0; i < others; i++) {
        rip__ended_begin();
        rip__ended_log(OTHERS_SLOT + i % 40, 2 + 2 * i, 1);
    }
}

static void check_log(uint64_t ended_before, uint64_t snaps_before)
{
    struct rip_ended ended[RIP_ENDED_COUNT];
    struct rip_ring_info info;
    uint64_t next;
    size_t count;
    unsigned ours = 0;

    rip_view_info(&rip__writer.view, &info);
    CHECK(info.ended_settled == 1);
    CHECK(info.ended_count == ended_before + others + 1 && info.ended_snap_count == snaps_before + others + SNAPS);
    count = rip_view_ended(&rip__writer.view, ended_before, ended, RIP_ENDED_COUNT, &next);
    CHECK(count == (others < RIP_ENDED_COUNT ? others + 1 : RIP_ENDED_COUNT) && next == info.ended_count);
    for (size_t i = 0; i < count; i++) {
        CHECK(ended[i].number == next - count + i);
        ours += ended[i].slot < OTHERS_SLOT;
    }
    CHECK(ours == 1 || (ours == 0 && others >= RIP_ENDED_COUNT));
}

FORKED_TEST(others_end_ids_at_every_instruction)
{
    static const unsigned numbers[] = {1, 2, RIP_ENDED_COUNT - 1, RIP_ENDED_COUNT, RIP_ENDED_COUNT + 1};
    int steps;

    make_stepped_ring(1000);
    steps = step_through(false, do_nothing, -1);
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
        others = numbers[k];
        for (int at = 0; at < steps; at += 1 + steps / RUNS_MAX) {
            uint64_t ended_before = rip_ring->ended_count, snaps_before = rip_ring->ended_snap_count;

            step_through(false, others_end, at);
            check_log(ended_before, snaps_before);
        }
    }
}

/* C ---------------------------------------------------------------------------------------------------------------- */

/* After a writer was killed, ends an id of this process. Its end is in the log, and so are all earlier ones. */
static void end_another(uint64_t ended_before)
{
    struct rip_ended ended[3];
    uint64_t next;
    size_t count;

    register_traced(8, "next");
    rip_exit();
    count = rip_view_ended(&rip__writer.view, ended_before, ended, 3, &next);
    CHECK((count == 1 || count == 2) && next == ended_before + count);
    CHECK(next == rip_load_acquire(&rip_ring->ended_count));
}

FORKED_TEST(killed_at_every_instruction)
{
    int steps;

    make_stepped_ring(64);
    steps = step_through(false, do_nothing, -1);
    for (int at = 0; at < steps; at += 1 + steps / RUNS_MAX) {
        uint64_t ended_before = rip_ring->ended_count;

        if (fork() == 0) {
            step_through(false, die, at);
            _exit(0);
        }
        CHECK(exit_status_of(-1) == 1000 + SIGKILL);
        end_another(ended_before);
        rip__slot_sweep(RIP_NO_PROCESS);
    }
    for (uint32_t id = 100; id < 164; id++) {
        register_traced(id, "x");
    }
}

int main(void)
{
#if !defined(__x86_64__) || defined(RIP_PORTABLE_SNAP)
    puts("skipped: needs amd64 without the thread sanitizer");
    return 77;
#endif
    return tests_run(NULL, NULL);
}
