/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - states of an id and their causes, one table each. The names are those of the HTTP interface.
 */
#ifndef RIPD_DETECT_STATE_H
#define RIPD_DETECT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define ID_STATE_TABLE(X)                                                                                              \
    X(RUNNING, "running", "its counter moves, or has stood still for less than its threshold")                         \
    X(IDLE, "idle", "it declared that it waits for work; its next snap ends that")                                     \
    X(STALLED, "stalled", "its counter has stood still for longer than its threshold")                                 \
    X(STOPPED, "stopped", "its thread was stopped; this is not a stall")                                               \
    X(EXITED, "exited", "its thread is gone, its process is alive")                                                    \
    X(DEAD, "dead", "its process is gone; the ring still has its last location")

enum id_state {
#define X(name, text, meaning) ID_##name,
    ID_STATE_TABLE(X)
#undef X
        ID_STATE_COUNT
};

/*
 * CAUSE_NONE means "not examined yet", and is null in answers. The causes from SIGNAL on belong to ID_STOPPED, the
 * others to ID_STALLED.
 */
#define ID_CAUSE_TABLE(X)                                                                                              \
    X(NONE, "", "not examined yet")                                                                                    \
    X(SPINNING, "spinning", "it uses CPU time without reaching a snap")                                                \
    X(BLOCKED, "blocked", "it waits in a system call for another thread, process, host or device")                     \
    X(SLEEPING, "sleeping", "it sleeps for a time that it asked for")                                                  \
    X(UNINTERRUPTIBLE, "uninterruptible",                                                                              \
      "it waits in the kernel where no signal interrupts it, mostly for a disk or a network file system")              \
    X(STARVED, "starved", "it is ready to run, but gets no processor")                                                 \
    X(DEADLOCK, "deadlock", "it waits for a thread that waits for it, directly or through others")                     \
    X(PARKED, "parked", "it is on no thread: a coroutine that was switched out and has not been resumed")              \
    X(UNKNOWN, "unknown", "it was examined, and none of the other causes was found")                                   \
    X(SIGNAL, "signal", "a stop signal such as SIGSTOP")                                                               \
    X(TRACER, "tracer", "a debugger or tracer has stopped it")                                                         \
    X(FREEZER, "freezer", "its control group is frozen")                                                               \
    X(CORE_DUMP, "core-dump", "its process is writing a core file")

/* Reasons for ID_IDLE by a verdict, in place of a cause. An id that declared itself idle has no reason. */
#define ID_REASON_TABLE(X)                                                                                             \
    X(INPUT, "input", "it waits for input: from a terminal, a pipe, a connection of a client")                         \
    X(UNSEEN, "unseen", "it sleeps outside of all calls that the preload library can see")                             \
    X(DECLARED, "declared", "it is in a call that waits for work, or has itself declared that it waits")

enum id_cause {
#define X(name, text, meaning) CAUSE_##name,
    ID_CAUSE_TABLE(X)
#undef X
        CAUSE_COUNT,
    CAUSE_LAST = CAUSE_COUNT - 1,
#define X(name, text, meaning) CAUSE_##name,
    ID_REASON_TABLE(X)
#undef X
        CAUSE_AND_REASON_COUNT
};

struct verdict {
    enum id_state state;
    enum id_cause cause;
};

/* Return static strings; "" for a value outside the enumeration. */
const char *id_state_name(enum id_state state);
const char *id_cause_name(enum id_cause cause);

/* Returns the letter of a state: r, i, s, t (stopped), e or d; '?' for a value outside the enumeration. */
char id_state_letter(enum id_state state);

/* Return the meaning as a phrase without capital and full stop. Static strings. */
const char *id_state_meaning(enum id_state state);
const char *id_cause_meaning(enum id_cause cause);

/* Whether the cause belongs to ID_STOPPED, or is a reason of ID_IDLE. All other causes belong to ID_STALLED. */
bool id_cause_stops(enum id_cause cause);
bool id_cause_idles(enum id_cause cause);

/*
 * Whether a stall with this cause is certainly a problem: the program did not ask for it, and the evidence proves it.
 * With preloaded (traced by the preload library, without source changes), spinning is not certain: the program may
 * simply compute, without any call.
 */
bool id_cause_is_certain(enum id_cause cause, bool preloaded);

/* Return -1 if there is no state (cause) of that name. */
int id_state_from_name(const char *name);
int id_cause_from_name(const char *name);

#endif
