/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cause.c - the table of verdicts. Pure.
 *
 * Guarantees
 *   A. The first row whose conditions all hold decides; the last row has none, so every evidence has a verdict.
 *   B. What stops a process as a whole outranks the state of one thread: a thread that dumps core sleeps in D.
 *   C. Nothing is concluded from evidence that is missing: a letter that is not known matches no row. A thread in S
 *      waits; where it is not known for what, it may as well sleep for a time it asked for: that is unknown.
 */
#include "cases/cause.h"

#include <stddef.h>
#include <string.h>

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

struct cause_row {
    unsigned all_of;            /* EVIDENCE_*: each must be there */
    unsigned none_of;           /* none may */
    const char *thread_states;  /* the thread's letter is one of these; NULL = any */
    const char *process_states; /* the same for the leader's */
    struct verdict verdict;
};

static const struct cause_row cause_rows[] = {
    {0, EVIDENCE_EXAMINED, NULL, NULL, {ID_STALLED, CAUSE_NONE}},
    {EVIDENCE_CORE_DUMPING, 0, NULL, NULL, {ID_STOPPED, CAUSE_CORE_DUMP}},
    {EVIDENCE_THREAD_GONE, 0, NULL, NULL, {ID_EXITED, CAUSE_NONE}},
    {EVIDENCE_THREAD_REPLACED, 0, NULL, NULL, {ID_EXITED, CAUSE_NONE}},
    {0, EVIDENCE_NO_THREAD, "ZXx", NULL, {ID_EXITED, CAUSE_NONE}},
    {0, EVIDENCE_NO_THREAD, "T", NULL, {ID_STOPPED, CAUSE_SIGNAL}},
    {0, EVIDENCE_NO_THREAD, "t", NULL, {ID_STOPPED, CAUSE_TRACER}},
    {EVIDENCE_NO_THREAD, 0, NULL, "T", {ID_STOPPED, CAUSE_SIGNAL}},
    {EVIDENCE_NO_THREAD, 0, NULL, "t", {ID_STOPPED, CAUSE_TRACER}},
    {EVIDENCE_FROZEN, 0, NULL, NULL, {ID_STOPPED, CAUSE_FREEZER}},
    {EVIDENCE_DEADLOCKED, 0, NULL, NULL, {ID_STALLED, CAUSE_DEADLOCK}},
    {EVIDENCE_NO_THREAD, 0, NULL, NULL, {ID_STALLED, CAUSE_PARKED}},
    {EVIDENCE_CPU_MOST, 0, "RSD", NULL, {ID_STALLED, CAUSE_SPINNING}}, /* whatever it does at the moment */
    {EVIDENCE_CPU_SOME, 0, "R", NULL, {ID_STALLED, CAUSE_SPINNING}},
    {EVIDENCE_CPU_HARDLY, 0, "R", NULL, {ID_STALLED, CAUSE_STARVED}},
    {0, 0, "D", NULL, {ID_STALLED, CAUSE_UNINTERRUPTIBLE}},
    {EVIDENCE_SLEEPS, 0, "S", NULL, {ID_STALLED, CAUSE_SLEEPING}},
    {EVIDENCE_WAITS, 0, "S", NULL, {ID_STALLED, CAUSE_BLOCKED}},
    {0, 0, NULL, NULL, {ID_STALLED, CAUSE_UNKNOWN}},
};

static unsigned facts_of(const struct evidence *evidence)
{
    static const unsigned wait_facts[WAIT_COUNT] = {[WAIT_OTHERS] = EVIDENCE_WAITS, [WAIT_SLEEP] = EVIDENCE_SLEEPS};
    static const unsigned cpu_facts[CPU_COUNT] = {
        [CPU_HARDLY] = EVIDENCE_CPU_HARDLY,
        [CPU_SOME] = EVIDENCE_CPU_SOME,
        [CPU_MOST] = EVIDENCE_CPU_MOST,
    };

    return (evidence->examined ? EVIDENCE_EXAMINED : 0) | (evidence->on_no_thread ? EVIDENCE_NO_THREAD : 0) |
           (evidence->thread_gone ? EVIDENCE_THREAD_GONE : 0) |
           (evidence->thread_replaced ? EVIDENCE_THREAD_REPLACED : 0) |
           (evidence->core_dumping ? EVIDENCE_CORE_DUMPING : 0) | (evidence->frozen ? EVIDENCE_FROZEN : 0) |
           (evidence->deadlocked ? EVIDENCE_DEADLOCKED : 0) | wait_facts[evidence->wait] |
           (evidence->wait == WAIT_UNKNOWN && evidence->lock.known ? EVIDENCE_WAITS : 0) | cpu_facts[evidence->cpu];
}

static bool letter_matches(const char *letters, char letter)
{
    return !letters || (letter && strchr(letters, letter));
}

struct verdict cause_judge(const struct evidence *evidence)
{
    const unsigned facts = facts_of(evidence);
    const struct cause_row *row = cause_rows;

    while ((facts & row->all_of) != row->all_of || (facts & row->none_of) ||
           !letter_matches(row->thread_states, evidence->thread_state) ||
           !letter_matches(row->process_states, evidence->process_state))
        row++;
    return row->verdict;
}

bool cause_can_be_judged(enum id_cause cause)
{
    for (size_t i = 0; i < sizeof(cause_rows) / sizeof(cause_rows[0]); i++)
        if (cause_rows[i].verdict.cause == cause)
            return true;
    return false;
}
