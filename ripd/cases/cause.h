/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cause.h - from evidence to a verdict, as one table. Pure.
 */
#ifndef RIPD_CASES_CAUSE_H
#define RIPD_CASES_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "detect/detector.h"

/* What a thread that is not on a processor waits for. */
enum evidence_wait {
    WAIT_UNKNOWN,
    WAIT_OTHERS, /* something that others have to do */
    WAIT_SLEEP,  /* time alone: a time that it asked for */
    WAIT_CHILD,  /* others: it reads a pipe that only its own descendants write, as their output */
    WAIT_WRITER, /* others: it opens a FIFO to read, and nobody writes to it yet */
    WAIT_COUNT
};

/* How much of the time between two looks it was on a processor. */
enum evidence_cpu {
    CPU_UNKNOWN, /* one look, or two that were too close */
    CPU_HARDLY,  /* less than a twentieth, and it did not go to sleep in between */
    CPU_SOME,
    CPU_MOST, /* at least half */
    CPU_COUNT
};

/* What the holder of a lock does. */
enum evidence_holder {
    HOLDER_UNKNOWN,
    HOLDER_SOUGHT, /* not known yet: there was no time to find out */
    HOLDER_IDLE,   /* it waits for work: for what a descriptor brings, where the lock is of one process */
    HOLDER_RUNS,
    HOLDER_STANDS, /* it is a suspect, or has ended */
    HOLDER_COUNT
};

/* A lock that its thread waits for: as its ring says, or as its memory does. */
struct evidence_lock {
    bool known;
    enum evidence_holder holder;
};

/* What the probe knows of one suspect. All zero = not examined. */
struct evidence {
    bool examined;
    bool on_no_thread;    /* the id is on no thread: a coroutine switched out */
    bool thread_gone;     /* the thread does not exist, is a zombie, or is exiting */
    bool thread_replaced; /* its tid now belongs to a thread started after the id was registered */
    bool core_dumping;    /* the process is writing a core file */
    bool frozen;          /* its cgroup is frozen */
    bool deadlocked;      /* it waits for a thread that waits for it, directly or through others: for certain */
    struct evidence_lock lock;
    enum evidence_wait wait;
    enum evidence_cpu cpu;
    uint8_t call;                 /* enum rip_call: what its thread announces */
    bool steady;                  /* for at least half its threshold it has not gone to sleep */
    enum evidence_cpu steady_cpu; /* of that time */
    char thread_state;            /* letter of /proc/PID/task/TID/stat; 0 = not known */
    char process_state;           /* the same of the thread group's leader, for an id on no thread; 0 = not known */
};

/*
 * The first row of the table in cause.c that matches. Not examined: stalled, CAUSE_NONE; or running, CAUSE_UNSEEN,
 * where what the thread announces is no reason to accuse it.
 */
struct verdict cause_judge(const struct evidence *evidence);

/* The verdict on a suspect that was not examined on this scan: what it was before, or what it announces. */
struct verdict cause_unexamined(const struct detector_suspect *suspect);

/* Whether some evidence leads to it, by that table. */
bool cause_can_be_judged(enum id_cause cause);

#endif
