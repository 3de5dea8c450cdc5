/* SPDX-License-Identifier: Apache-2.0 */
/*
 * state.h - states of an id and their causes, one table each. The names are those of the HTTP interface.
 */
#ifndef RIPD_DETECT_STATE_H
#define RIPD_DETECT_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define ID_STATE_TABLE(X)                                                                                              \
    X(RUNNING, "running", "the counter moves, or has stood still for less than the threshold")                         \
    X(IDLE, "idle", "the id waits for work: it declared so, or the evidence shows it; its next snap ends that")        \
    X(STALLED, "stalled", "the counter has not moved for longer than the threshold")                                   \
    X(STOPPED, "stopped", "the thread is stopped, which is no stall")                                                  \
    X(EXITED, "exited", "the thread is gone, but its process lives")                                                   \
    X(DEAD, "dead", "the process is gone; the ring still has the last location")

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
    X(SPINNING, "spinning", "the thread uses CPU time and does not snap")                                              \
    X(BLOCKED, "blocked", "the thread waits in a system call for another thread, process, host or device")             \
    X(SLEEPING, "sleeping", "the thread sleeps for a time that it chose")                                              \
    X(UNINTERRUPTIBLE, "uninterruptible",                                                                              \
      "the thread waits in the kernel where no signal interrupts it, mostly for a disk or a network file system")      \
    X(STARVED, "starved", "the thread is ready to run and gets no processor")                                          \
    X(DEADLOCK, "deadlock", "the thread waits for a thread that waits for it, directly or through others")             \
    X(PARKED, "parked", "the id is on no thread: a coroutine that was switched out and has not been resumed")          \
    X(UNKNOWN, "unknown", "the thread was examined, and no other cause was found")                                     \
    X(SIGNAL, "signal", "a stop signal such as SIGSTOP")                                                               \
    X(TRACER, "tracer", "a debugger or tracer has stopped the thread")                                                 \
    X(FREEZER, "freezer", "the control group is frozen")                                                               \
    X(CORE_DUMP, "core-dump", "the process is writing a core file")

/* Reasons for ID_IDLE by a verdict, in place of a cause. An id that declared itself idle has no reason. */
#define ID_REASON_TABLE(X)                                                                                             \
    X(INPUT, "input", "the thread waits for data on an input: a terminal, a pipe, a client connection")                \
    X(UNSEEN, "unseen", "the thread sleeps outside of all calls that the preload library can see")                     \
    X(DECLARED, "declared", "the thread is in a call that waits for work, or has declared that it waits")

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
