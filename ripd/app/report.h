/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - stalls and notices as log lines, and as fields of the journal. */
#ifndef RIPD_APP_REPORT_H
#define RIPD_APP_REPORT_H

#include <stddef.h>

#include "cases/event.h"
#include "ring/registry.h"

/* Something that is logged at intervals, as a sum. Initially all zero. */
struct report_pace {
    uint64_t count; /* since the last line */
    uint64_t logged_mono_ns;
};

/*
 * Adds count. If between_ns have passed since the last line, returns the sum since then, which must be logged now.
 * Otherwise, or if the sum is 0, returns 0.
 */
uint64_t report_due(struct report_pace *pace, uint64_t now_mono_ns, uint64_t count, uint64_t between_ns);

/*
 * Rate limit of log lines: a burst, and a steady rate after it. A user that creates and removes rings all day must not
 * fill the disk with lines about them. Lines about rings are limited by user instead (WORK_NOTICES).
 */
#define REPORT_BURST 1000u                      /* lines */
#define REPORT_PER_SECOND 20u                   /* lines, on average */
#define REPORT_SUMMARY_NS UINT64_C(10000000000) /* between two lines with the number of dropped lines */
struct report_budget {
    uint64_t credit_ns; /* saved time; a line costs 1 s / REPORT_PER_SECOND */
    uint64_t updated_mono_ns;
    struct report_pace left_out;
};

void report_budget_init(struct report_budget *budget, uint64_t now_mono_ns);
/* Returns the number of lines that may be written now. */
size_t report_budget_lines(struct report_budget *budget, uint64_t now_mono_ns);
void report_budget_spend(struct report_budget *budget, size_t lines);
/* Spends one line and returns true. Returns false, and counts the line as left out, if the budget is spent. */
bool report_budget_take(struct report_budget *budget, uint64_t now_mono_ns, const char *what);
/* Adds count lines that were not written, and logs their sum at intervals. what: plural noun for the log line. */
void report_left_out(struct report_budget *budget, uint64_t now_mono_ns, const char *what, uint64_t count);

/* Context of report_notice(). */
struct report_notices {
    struct work *work;           /* borrowed */
    struct report_budget budget; /* for lines that are not about a ring; sums the lines left out */
};

/* A registry_noticed callback; notices is a struct report_notices. */
void report_notice(void *notices, uint32_t user, enum registry_notice_kind kind, const char *name, const char *reason);

void report_event(const struct event *event);

/* MESSAGE_ID of the two kinds. They never change: journalctl MESSAGE_ID=..., alerts and catalogues depend on them. */
#define REPORT_BEGIN_MESSAGE_ID "3145ab467b3b494d8c68514563889660"
#define REPORT_END_MESSAGE_ID "0ce3f47721c94e4eba64dad08f7a9b85"

/*
 * Fields of the journal for the begin and the end of a stall, in addition to the line: field, meaning. A field is
 * omitted if its value is not known. Names (of rings, threads, programs, modules) are raw bytes, not escaped as in the
 * line.
 */
#define REPORT_FIELD_TABLE(X)                                                                                          \
    X(MESSAGE_ID, "the kind of event; the value never changes")                                                        \
    X(RIPD_EVENT, "begin or end")                                                                                      \
    X(RIPD_EPISODE, "the same number for a begin and its end")                                                         \
    X(RIPD_INCIDENT, "the same number for all stalls with the same root")                                              \
    X(RIPD_WAITING_COUNT, "of a begin: number of stalled ids that waited for that root then")                          \
    X(RIPD_RING, "name of the ring")                                                                                   \
    X(RIPD_ID, "id in the ring")                                                                                       \
    X(RIPD_TID, "its thread; omitted if the id is on no thread")                                                       \
    X(RIPD_NAME, "its name, any bytes")                                                                                \
    X(RIPD_NOTE, "of a begin: the note that the thread has set, any bytes")                                            \
    X(RIPD_PID, "its process")                                                                                         \
    X(RIPD_COMM, "the name of its process, any bytes")                                                                 \
    X(RIPD_UNIT, "systemd unit of its process")                                                                        \
    X(RIPD_CONTAINER, "container of its process")                                                                      \
    X(RIPD_CAUSE, "why it does not move; omitted if it was not examined")                                              \
    X(RIPD_FROZEN_FOR_MS, "of a begin: how long it had not moved")                                                     \
    X(RIPD_LASTED_MS, "of an end: how long it had not moved")                                                          \
    X(RIPD_MODULE, "program or library of its last location, any bytes")                                               \
    X(RIPD_OFFSET, "offset of its last location in that module, hexadecimal with 0x")                                  \
    X(RIPD_FUNCTION, "function at that location")                                                                      \
    X(RIPD_FILE, "source file, as in the debugging information")                                                       \
    X(RIPD_LINE, "line in that file")                                                                                  \
    X(RIPD_SYSCALL, "of a begin: system call in which its thread waited")                                              \
    X(RIPD_TARGET, "of a begin: what it waited for there, any bytes")                                                  \
    X(RIPD_SUMMARY, "summary of all fields in one sentence")                                                           \
    X(RIPD_REASON, "of an end: how it ended")

#endif
