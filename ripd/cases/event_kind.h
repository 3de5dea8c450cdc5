/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_kind.h - kinds of events and reasons for an end, one table each. The names are those of the HTTP interface.
 * Pure.
 */
#ifndef RIPD_CASES_EVENT_KIND_H
#define RIPD_CASES_EVENT_KIND_H

#define EVENT_KIND_TABLE(X)                                                                                            \
    X(BEGIN, "begin", "an id has not moved for longer than its threshold")                                             \
    X(END, "end", "the id moved, was stopped, or is gone; lasted_ms is the length of the stall")

enum event_kind {
#define X(name, text, meaning) EVENT_##name,
    EVENT_KIND_TABLE(X)
#undef X
        EVENT_KIND_COUNT
};

/* Why a stall ended. */
#define EVENT_REASON_TABLE(X)                                                                                          \
    X(MOVED, "moved", "the id snapped again, or declared itself idle")                                                 \
    X(STOPPED, "stopped", "the id was stopped by a signal, a tracer, the freezer or a core dump")                      \
    X(GONE, "gone", "the thread or the process has ended, the ring is gone, or the system was rebooted")               \
    X(EXCUSED, "excused", "the threshold was raised above the time for which the id has not moved")                    \
    X(UNWATCHED, "unwatched",                                                                                          \
      "after a restart of ripd the ring cannot be read, is in no watched directory, or its user has too many stalls")

enum event_reason {
#define X(name, text, meaning) EVENT_REASON_##name,
    EVENT_REASON_TABLE(X)
#undef X
        EVENT_REASON_COUNT
};

/* Return static strings. */
const char *event_kind_name(enum event_kind kind);
const char *event_reason_name(enum event_reason reason);

/* Return -1 if there is none of that name. */
int event_kind_from_name(const char *name);
int event_reason_from_name(const char *name);

#endif
