/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - the words for what an id is doing, each list once. The names are those of the HTTP interface.
 */
#ifndef RIPD_CORE_STATE_H
#define RIPD_CORE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define ID_STATE_TABLE(X)                                                                                              \
    X(RUNNING, "running")                                                                                              \
    X(IDLE, "idle")                                                                                                    \
    X(STALLED, "stalled")                                                                                              \
    X(STOPPED, "stopped")                                                                                              \
    X(EXITED, "exited")                                                                                                \
    X(DEAD, "dead")

enum id_state {
#define X(name, text) ID_##name,
    ID_STATE_TABLE(X)
#undef X
        ID_STATE_COUNT
};

/* CAUSE_NONE is "not examined yet", null in answers. Those from SIGNAL on are of ID_STOPPED, the others of ID_STALLED.
 */
#define ID_CAUSE_TABLE(X)                                                                                              \
    X(NONE, "")                                                                                                        \
    X(SPINNING, "spinning")                                                                                            \
    X(BLOCKED, "blocked")                                                                                              \
    X(SLEEPING, "sleeping")                                                                                            \
    X(UNINTERRUPTIBLE, "uninterruptible")                                                                              \
    X(STARVED, "starved")                                                                                              \
    X(DEADLOCK, "deadlock")                                                                                            \
    X(PARKED, "parked")                                                                                                \
    X(UNKNOWN, "unknown")                                                                                              \
    X(SIGNAL, "signal")                                                                                                \
    X(TRACER, "tracer")                                                                                                \
    X(FREEZER, "freezer")                                                                                              \
    X(CORE_DUMP, "core-dump")

enum id_cause {
#define X(name, text) CAUSE_##name,
    ID_CAUSE_TABLE(X)
#undef X
        CAUSE_COUNT
};

/* Static strings; never NULL for a value of the enumeration. */
const char *id_state_name(enum id_state state);
const char *id_cause_name(enum id_cause cause);

/* Whether it is a cause of ID_STOPPED; every other one is of ID_STALLED. */
bool id_cause_stops(enum id_cause cause);

/* -1 if no state (cause) has that name. */
int id_state_from_name(const char *name);
int id_cause_from_name(const char *name);

#endif
