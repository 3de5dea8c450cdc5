/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_fields.h - what the journal is told of the begin and the end of a stall besides the line. One table.
 *
 * A field is left out where its value is not known. Names (of rings, threads, programs, modules) are the bytes that
 * they are, not the escaped text of the line: the journal keeps any bytes, and one value stays one value.
 */
#ifndef RIPD_APP_REPORT_FIELDS_H
#define RIPD_APP_REPORT_FIELDS_H

#include "app/log.h"
#include "cases/event.h"

/* MESSAGE_ID of the two kinds. They never change: journalctl MESSAGE_ID=..., alerts and catalogues go by them. */
#define REPORT_BEGIN_MESSAGE_ID "3145ab467b3b494d8c68514563889660"
#define REPORT_END_MESSAGE_ID "0ce3f47721c94e4eba64dad08f7a9b85"

/* field, what it is of */
#define REPORT_FIELD_TABLE(X)                                                                                          \
    X(MESSAGE_ID, message_id, "which kind of event this is, for ever")                                                 \
    X(RIPD_EVENT, kind, "begin or end")                                                                                \
    X(RIPD_EPISODE, episode, "the same number for a begin and its end")                                                \
    X(RIPD_RING, ring, "name of the ring")                                                                             \
    X(RIPD_ID, id, "id in the ring")                                                                                   \
    X(RIPD_TID, tid, "its thread; left out for an id on no thread")                                                    \
    X(RIPD_NAME, name, "its name, any bytes")                                                                          \
    X(RIPD_PID, pid, "its process")                                                                                    \
    X(RIPD_COMM, comm, "the name of its process, any bytes")                                                           \
    X(RIPD_CAUSE, cause, "why it does not move; left out when it was not examined")                                    \
    X(RIPD_FROZEN_FOR_MS, frozen_for, "of a begin: for how long it had not moved")                                     \
    X(RIPD_LASTED_MS, lasted, "of an end: for how long it had not moved")                                              \
    X(RIPD_MODULE, module, "program or library of its last location, any bytes")                                       \
    X(RIPD_OFFSET, offset, "of its last location in that module, hexadecimal with 0x")                                 \
    X(RIPD_FUNCTION, function, "the function that is there")                                                           \
    X(RIPD_FILE, file, "its source file, as the debugging information has it")                                         \
    X(RIPD_LINE, line, "the line in that file")                                                                        \
    X(RIPD_SYSCALL, syscall, "of a begin: the system call that its thread waited in")                                  \
    X(RIPD_TARGET, target, "of a begin: what it waited for there, any bytes")                                          \
    X(RIPD_REASON, reason, "of an end: how it ended")

enum report_field {
#define X(name, getter, meaning) REPORT_FIELD_##name,
    REPORT_FIELD_TABLE(X)
#undef X
        REPORT_FIELD_COUNT
};

#define REPORT_NUMBER_BYTES 24u
struct report_fields {
    struct log_field fields[REPORT_FIELD_COUNT];
    size_t count;
    char numbers[REPORT_FIELD_COUNT][REPORT_NUMBER_BYTES]; /* what fields may point at, besides the event */
};

/* Refers to the event and to *ret_fields itself, which must stay where it is. */
void report_fields_fill(struct report_fields *ret_fields, const struct event *event);

#endif
