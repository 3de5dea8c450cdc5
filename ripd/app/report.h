/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - stalls and notices as log lines, and as fields of the journal. */
#ifndef RIPD_APP_REPORT_H
#define RIPD_APP_REPORT_H

#include <stddef.h>

#include "cases/event.h"
#include "ring/registry.h"

/* What is logged now and then, as a sum. All zero at first. */
struct report_pace {
    uint64_t count; /* since the last line */
    uint64_t logged_mono_ns;
};

/* count more; how many there were since the last line, if so much time has passed since, and there is one now. 0: none.
 */
uint64_t report_due(struct report_pace *pace, uint64_t now_mono_ns, uint64_t count, uint64_t between_ns);

/*
 * How many lines may still be written: a burst, and a steady trickle after it. A user who makes and removes rings all
 * day must not fill the disk with lines about them. One budget for notices, one for stalls.
 */
#define REPORT_BURST 1000u                      /* lines */
#define REPORT_PER_SECOND 20u                   /* lines, in the long run */
#define REPORT_SUMMARY_NS UINT64_C(10000000000) /* between two lines that say how many were left out */
struct report_budget {
    uint64_t credit_ns; /* time saved up; a line takes 1 s / REPORT_PER_SECOND */
    uint64_t updated_mono_ns;
    struct report_pace left_out;
};

void report_budget_init(struct report_budget *budget, uint64_t now_mono_ns);
/* Lines that may be written now. */
size_t report_budget_lines(struct report_budget *budget, uint64_t now_mono_ns);
void report_budget_spend(struct report_budget *budget, size_t lines);
/* Whether one line may be written now, which is spent; else it is left out. */
bool report_budget_take(struct report_budget *budget, uint64_t now_mono_ns, const char *what);
/* count more were not written; says so now and then, what being the plural of what they are about. */
void report_left_out(struct report_budget *budget, uint64_t now_mono_ns, const char *what, uint64_t count);

/* A registry_noticed; budget: a struct report_budget. */
void report_notice(void *budget, enum registry_notice_kind kind, const char *name, const char *reason);

void report_event(const struct event *event);

/* MESSAGE_ID of the two kinds. They never change: journalctl MESSAGE_ID=..., alerts and catalogues go by them. */
#define REPORT_BEGIN_MESSAGE_ID "3145ab467b3b494d8c68514563889660"
#define REPORT_END_MESSAGE_ID "0ce3f47721c94e4eba64dad08f7a9b85"

/*
 * What the journal gets of the begin and the end of a stall besides the line: field, meaning. A field is left out where
 * its value is not known. Names (of rings, threads, programs, modules) are raw bytes, not the escaped text of the line.
 */
#define REPORT_FIELD_TABLE(X)                                                                                          \
    X(MESSAGE_ID, "which kind of event this is, for ever")                                                             \
    X(RIPD_EVENT, "begin or end")                                                                                      \
    X(RIPD_EPISODE, "the same number for a begin and its end")                                                         \
    X(RIPD_INCIDENT, "the same number for all stalls that have one root")                                              \
    X(RIPD_WAITING_COUNT, "of a begin: how many stalled ids waited for that root then")                                \
    X(RIPD_RING, "name of the ring")                                                                                   \
    X(RIPD_ID, "id in the ring")                                                                                       \
    X(RIPD_TID, "its thread; left out for an id on no thread")                                                         \
    X(RIPD_NAME, "its name, any bytes")                                                                                \
    X(RIPD_NOTE, "of a begin: what it said it was doing, any bytes")                                                   \
    X(RIPD_PID, "its process")                                                                                         \
    X(RIPD_COMM, "the name of its process, any bytes")                                                                 \
    X(RIPD_UNIT, "the unit of systemd that its process belongs to")                                                    \
    X(RIPD_CONTAINER, "the container that its process is in")                                                          \
    X(RIPD_CAUSE, "why it does not move; left out when it was not examined")                                           \
    X(RIPD_FROZEN_FOR_MS, "of a begin: for how long it had not moved")                                                 \
    X(RIPD_LASTED_MS, "of an end: for how long it had not moved")                                                      \
    X(RIPD_MODULE, "program or library of its last location, any bytes")                                               \
    X(RIPD_OFFSET, "of its last location in that module, hexadecimal with 0x")                                         \
    X(RIPD_FUNCTION, "the function that is there")                                                                     \
    X(RIPD_FILE, "its source file, as the debugging information has it")                                               \
    X(RIPD_LINE, "the line in that file")                                                                              \
    X(RIPD_SYSCALL, "of a begin: the system call that its thread waited in")                                           \
    X(RIPD_TARGET, "of a begin: what it waited for there, any bytes")                                                  \
    X(RIPD_SUMMARY, "all this as a sentence")                                                                          \
    X(RIPD_REASON, "of an end: how it ended")

#endif
