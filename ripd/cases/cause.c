/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cause.c - the table of verdicts. Pure.
 *
 * Guarantees
 *   A. The first row whose conditions all hold decides. The last row has no condition, so all evidence has a verdict.
 *   B. What stops a process as a whole takes precedence over the state of one thread: a thread that dumps core sleeps
 *      in state D.
 *   C. What a thread announces is judged without privilege. No row makes an id idle that announces nothing: such a
 *      program declares by itself when it is idle.
 *   D. Nothing is concluded from missing evidence: an unknown state letter matches no row. A thread in state S waits.
 *      If it is not known what for, it may sleep for a time that it chose: the cause is unknown.
 */
#include "cases/cause.h"

#include <stddef.h>
#include <string.h>

#include "rip/ring.h"
#include "util/array.h"

#define EVIDENCE_EXAMINED 0x1u
#define EVIDENCE_NO_THREAD 0x2u
#define EVIDENCE_THREAD_GONE 0x4u
#define EVIDENCE_THREAD_REPLACED 0x8u
#define EVIDENCE_CORE_DUMPING 0x10u
#define EVIDENCE_FROZEN 0x20u
#define EVIDENCE_DEADLOCKED 0x40u
#define EVIDENCE_WAITS 0x80u /* for others */
#define EVIDENCE_SLEEPS 0x100u
#define EVIDENCE_CPU_HARDLY 0x200u
#define EVIDENCE_CPU_SOME 0x400u
#define EVIDENCE_CPU_MOST 0x800u
#define EVIDENCE_CHILD 0x1000u         /* it reads what its own child writes */
#define EVIDENCE_STEADY_HARDLY 0x2000u /* these three: CPU time while it did not go to sleep */
#define EVIDENCE_STEADY_SOME 0x4000u
#define EVIDENCE_STEADY_MOST 0x8000u
#define EVIDENCE_STEADY 0x10000u
#define EVIDENCE_HOLDER_IDLE 0x20000u
#define EVIDENCE_HOLDER_SOUGHT 0x40000u
#define EVIDENCE_WRITER 0x80000u /* it waits for another process to open a FIFO for writing */

#define CALL(name) (1u << RIP_CALL_##name)

/* Sets of what a thread may announce. ANY: anything, or nothing. */
#define ANY 0u
#define OUTSIDE (CALL(OUTSIDE) | CALL(COMPUTES))
#define IN_INTERPRETER (CALL(INTERPRETER) | CALL(COMPUTES))
#define IN_WORK (CALL(WORK) | CALL(PRIVATE) | CALL(READY))
#define IN_RECEIVE (CALL(PIPE) | CALL(UNSURE) | CALL(REPLY))
#define IN_LOCK (CALL(LOCK) | CALL(SHARED))
#define IN_WAIT (CALL(BLOCK) | IN_LOCK)
#define IN_CALL (IN_RECEIVE | IN_WAIT | CALL(SLEEP))
/* With these, a suspect that was not examined is not stalled. */
#define NEEDS_EVIDENCE                                                                                                 \
    (OUTSIDE | IN_INTERPRETER | IN_WORK | CALL(INPUT) | CALL(PIPE) | CALL(UNSURE) | CALL(SLEEP) | CALL(VFORK) | IN_LOCK)

struct cause_row {
    unsigned all_of;            /* EVIDENCE_*: all must be set */
    unsigned none_of;           /* none may be set */
    unsigned calls;             /* the thread announces one of these */
    const char *thread_states;  /* state of the thread is one of these letters; NULL: any */
    const char *process_states; /* state of the thread group leader, likewise */
    struct verdict verdict;
};

static const struct cause_row cause_rows[] = {
    /* Not examined. */
    {0, EVIDENCE_EXAMINED, NEEDS_EVIDENCE, NULL, NULL, {ID_RUNNING, CAUSE_UNSEEN}},
    {0, EVIDENCE_EXAMINED, ANY, NULL, NULL, {ID_STALLED, CAUSE_NONE}},

    /* Stopped, exited, or certain whatever the thread announces. */
    {EVIDENCE_CORE_DUMPING, 0, ANY, NULL, NULL, {ID_STOPPED, CAUSE_CORE_DUMP}},
    {EVIDENCE_THREAD_GONE, 0, ANY, NULL, NULL, {ID_EXITED, CAUSE_NONE}},
    {EVIDENCE_THREAD_REPLACED, 0, ANY, NULL, NULL, {ID_EXITED, CAUSE_NONE}},
    {0, EVIDENCE_NO_THREAD, ANY, "ZXx", NULL, {ID_EXITED, CAUSE_NONE}},
    {0, EVIDENCE_NO_THREAD, ANY, "T", NULL, {ID_STOPPED, CAUSE_SIGNAL}},
    {0, EVIDENCE_NO_THREAD, ANY, "t", NULL, {ID_STOPPED, CAUSE_TRACER}},
    {EVIDENCE_NO_THREAD, 0, ANY, NULL, "T", {ID_STOPPED, CAUSE_SIGNAL}},
    {EVIDENCE_NO_THREAD, 0, ANY, NULL, "t", {ID_STOPPED, CAUSE_TRACER}},
    {EVIDENCE_FROZEN, 0, ANY, NULL, NULL, {ID_STOPPED, CAUSE_FREEZER}},
    {EVIDENCE_DEADLOCKED, 0, ANY, NULL, NULL, {ID_STALLED, CAUSE_DEADLOCK}},
    {EVIDENCE_NO_THREAD, 0, ANY, NULL, NULL, {ID_STALLED, CAUSE_PARKED}},

    /* A thread that waits like this is a suspect only if all threads of its process do: see DETECTOR_STUCK. */
    {0, 0, CALL(PRIVATE), "S", NULL, {ID_STALLED, CAUSE_BLOCKED}},
    {0, 0, IN_WORK, NULL, NULL, {ID_RUNNING, CAUSE_UNSEEN}}, /* about to become idle */
    {0, 0, CALL(INPUT), NULL, NULL, {ID_IDLE, CAUSE_INPUT}},
    /*
     * Workers share a lock. The worker that holds it waits for the next client, on behalf of all. The others wait in
     * short pieces (librip/auto/preload_lock.c). Between two pieces they are ready to run, and may wait for a
     * processor.
     */
    {EVIDENCE_HOLDER_IDLE, 0, IN_LOCK, "RSD", NULL, {ID_IDLE, CAUSE_DECLARED}},
    {EVIDENCE_HOLDER_SOUGHT, 0, IN_LOCK, "RSD", NULL, {ID_RUNNING, CAUSE_UNSEEN}},

    /*
     * An interpreter runs one thread at a time. Threads that compute sleep in between, so the state that was seen may
     * be out of date. CPU time shows which threads compute.
     */
    {EVIDENCE_CPU_MOST, 0, IN_INTERPRETER, "RSD", NULL, {ID_STALLED, CAUSE_SPINNING}},
    {EVIDENCE_CPU_SOME, 0, IN_INTERPRETER, "RSD", NULL, {ID_STALLED, CAUSE_SPINNING}},
    {EVIDENCE_STEADY_HARDLY, 0, CALL(INTERPRETER), "R", NULL, {ID_STALLED, CAUSE_STARVED}},
    {0, 0, CALL(INTERPRETER), "R", NULL, {ID_RUNNING, CAUSE_UNSEEN}},
    {0, 0, CALL(INTERPRETER), "D", NULL, {ID_STALLED, CAUSE_UNINTERRUPTIBLE}},
    {0, 0, CALL(INTERPRETER), "S", NULL, {ID_STALLED, CAUSE_BLOCKED}},
    {0, 0, CALL(INTERPRETER), NULL, NULL, {ID_STALLED, CAUSE_UNKNOWN}},

    /*
     * Outside of all announced calls, a thread may wait in calls that ripd does not see: only a thread that uses CPU
     * time or wants a processor is stalled.
     */
    {EVIDENCE_STEADY_MOST, 0, OUTSIDE, "RSD", NULL, {ID_STALLED, CAUSE_SPINNING}},
    {EVIDENCE_STEADY_SOME, 0, OUTSIDE, "R", NULL, {ID_STALLED, CAUSE_SPINNING}},
    {EVIDENCE_STEADY_HARDLY, 0, OUTSIDE, "R", NULL, {ID_STALLED, CAUSE_STARVED}},
    {EVIDENCE_STEADY, 0, OUTSIDE, "D", NULL, {ID_STALLED, CAUSE_UNINTERRUPTIBLE}},
    {0, 0, OUTSIDE, "S", NULL, {ID_IDLE, CAUSE_UNSEEN}},
    {0, 0, OUTSIDE, NULL, NULL, {ID_RUNNING, CAUSE_UNSEEN}},
    {0, 0, CALL(VFORK), NULL, NULL, {ID_STALLED, CAUSE_BLOCKED}},

    /* Inside a call, that call is judged. A thread that was just woken is only ready to run. */
    {EVIDENCE_CPU_MOST, 0, IN_CALL, "RSD", NULL, {ID_STALLED, CAUSE_SPINNING}},
    {EVIDENCE_STEADY_SOME, 0, IN_CALL, "R", NULL, {ID_STALLED, CAUSE_SPINNING}},
    {EVIDENCE_STEADY_HARDLY, 0, IN_CALL, "R", NULL, {ID_STALLED, CAUSE_STARVED}},
    {0, 0, IN_RECEIVE | IN_LOCK | CALL(SLEEP), "R", NULL, {ID_RUNNING, CAUSE_UNSEEN}},
    {0, 0, IN_CALL, "D", NULL, {ID_STALLED, CAUSE_UNINTERRUPTIBLE}},
    {EVIDENCE_CHILD, 0, CALL(PIPE), "S", NULL, {ID_STALLED, CAUSE_BLOCKED}},
    {0, 0, CALL(PIPE), "S", NULL, {ID_IDLE, CAUSE_INPUT}},
    {EVIDENCE_WRITER, 0, CALL(UNSURE), "S", NULL, {ID_IDLE, CAUSE_INPUT}},
    {EVIDENCE_WAITS, 0, CALL(UNSURE), "S", NULL, {ID_STALLED, CAUSE_BLOCKED}},
    {0, 0, CALL(REPLY) | IN_WAIT, "S", NULL, {ID_STALLED, CAUSE_BLOCKED}},
    {0, 0, CALL(SLEEP), "S", NULL, {ID_STALLED, CAUSE_SLEEPING}},
    {0, 0, IN_CALL, NULL, NULL, {ID_STALLED, CAUSE_UNKNOWN}},

    /* Programs that announce nothing: the state of the thread decides. */
    {EVIDENCE_CPU_MOST, 0, ANY, "RSD", NULL, {ID_STALLED, CAUSE_SPINNING}},
    {EVIDENCE_CPU_SOME, 0, ANY, "R", NULL, {ID_STALLED, CAUSE_SPINNING}},
    {EVIDENCE_CPU_HARDLY, 0, ANY, "R", NULL, {ID_STALLED, CAUSE_STARVED}},
    {0, 0, ANY, "D", NULL, {ID_STALLED, CAUSE_UNINTERRUPTIBLE}},
    {EVIDENCE_SLEEPS, 0, ANY, "S", NULL, {ID_STALLED, CAUSE_SLEEPING}},
    {EVIDENCE_WAITS, 0, ANY, "S", NULL, {ID_STALLED, CAUSE_BLOCKED}},
    {0, 0, ANY, NULL, NULL, {ID_STALLED, CAUSE_UNKNOWN}},
};

static unsigned facts_of(const struct evidence *evidence)
{
    static const unsigned wait_facts[WAIT_COUNT] = {
        [WAIT_OTHERS] = EVIDENCE_WAITS,
        [WAIT_SLEEP] = EVIDENCE_SLEEPS,
        [WAIT_CHILD] = EVIDENCE_WAITS | EVIDENCE_CHILD,
        [WAIT_WRITER] = EVIDENCE_WAITS | EVIDENCE_WRITER,
    };
    static const unsigned cpu_facts[CPU_COUNT] = {
        [CPU_HARDLY] = EVIDENCE_CPU_HARDLY,
        [CPU_SOME] = EVIDENCE_CPU_SOME,
        [CPU_MOST] = EVIDENCE_CPU_MOST,
    };
    static const unsigned steady_facts[CPU_COUNT] = {
        [CPU_HARDLY] = EVIDENCE_STEADY_HARDLY,
        [CPU_SOME] = EVIDENCE_STEADY_SOME,
        [CPU_MOST] = EVIDENCE_STEADY_MOST,
    };

    return (evidence->examined ? EVIDENCE_EXAMINED : 0) | (evidence->on_no_thread ? EVIDENCE_NO_THREAD : 0) |
           (evidence->thread_gone ? EVIDENCE_THREAD_GONE : 0) |
           (evidence->thread_replaced ? EVIDENCE_THREAD_REPLACED : 0) |
           (evidence->core_dumping ? EVIDENCE_CORE_DUMPING : 0) | (evidence->frozen ? EVIDENCE_FROZEN : 0) |
           (evidence->deadlocked ? EVIDENCE_DEADLOCKED : 0) | wait_facts[evidence->wait] |
           (evidence->lock.holder == HOLDER_IDLE ? EVIDENCE_HOLDER_IDLE : 0) |
           (evidence->lock.holder == HOLDER_SOUGHT ? EVIDENCE_HOLDER_SOUGHT : 0) |
           (evidence->wait == WAIT_UNKNOWN && evidence->lock.known ? EVIDENCE_WAITS : 0) | cpu_facts[evidence->cpu] |
           (evidence->steady ? EVIDENCE_STEADY | steady_facts[evidence->steady_cpu] : 0);
}

/* Returns a set with the announced call. The set is empty if the thread announces nothing. */
static unsigned call_of(const struct evidence *evidence)
{
    if (evidence->call == RIP_CALL_NONE)
        return 0;
    if (evidence->call > RIP_CALL_COMPUTES)
        return CALL(UNSURE);
    if (evidence->call == RIP_CALL_VFORK && evidence->examined && evidence->thread_state != 'D')
        return OUTSIDE; /* its child has executed a program */
    return 1u << evidence->call;
}

static bool letter_matches(const char *letters, char letter)
{
    return !letters || (letter && strchr(letters, letter));
}

struct verdict cause_judge(const struct evidence *evidence)
{
    const unsigned facts = facts_of(evidence), call = call_of(evidence);
    const struct cause_row *row = cause_rows;

    while ((facts & row->all_of) != row->all_of || (facts & row->none_of) || (row->calls && !(row->calls & call)) ||
           !letter_matches(row->thread_states, evidence->thread_state) ||
           !letter_matches(row->process_states, evidence->process_state))
        row++;
    return row->verdict;
}

struct verdict cause_unexamined(const struct detector_suspect *suspect)
{
    if (suspect->state != ID_RUNNING)
        return (struct verdict){suspect->state, suspect->cause};
    return cause_judge(&(struct evidence){.call = suspect->call});
}

bool cause_can_be_judged(enum id_cause cause)
{
    for (size_t i = 0; i < ARRAY_COUNT(cause_rows); i++)
        if (cause_rows[i].verdict.cause == cause)
            return true;
    return false;
}
