/* SPDX-License-Identifier: Apache-2.0 */
/* event_kind.h - the words for what an event tells, one list. The names are those of the HTTP interface. Pure. */
#ifndef RIPD_CORE_EVENT_KIND_H
#define RIPD_CORE_EVENT_KIND_H

#define EVENT_KIND_TABLE(X)                                                                                            \
    X(BEGIN, "begin", "an id has not moved for longer than its threshold")                                             \
    X(END, "end", "it moved, was stopped, or is gone; lasted_ms is how long it stood still")

enum event_kind {
#define X(name, text, meaning) EVENT_##name,
    EVENT_KIND_TABLE(X)
#undef X
        EVENT_KIND_COUNT
};

/* Static strings. */
const char *event_kind_name(enum event_kind kind);
int event_kind_from_name(const char *name); /* -1 if there is none of that name */

#endif
