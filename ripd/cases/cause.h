/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cause.h - turns the evidence about a suspect into a verdict, with one table. Pure.
 *
 * Evidence has three sources: what the thread announces in its ring (enum rip_call), what /proc says about it (filled
 * in by the probe), and the graph of locks (cases/waits.h). The table is in cause.c. cases/README.md explains it.
 */
#ifndef RIPD_CASES_CAUSE_H
#define RIPD_CASES_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "detect/detector.h"

/* What a thread waits for while it is not on a processor. */
enum evidence_wait {
    WAIT_UNKNOWN,
    WAIT_OTHERS, /* something that others have to do */
    WAIT_SLEEP,  /* a time that it chose */
    WAIT_CHILD,  /* others: it reads a pipe that only its own descendants write to, as their output */
    WAIT_WRITER, /* others: it opens a FIFO for reading, and no process has opened it for writing yet */
    WAIT_COUNT
};

/* How much CPU time a thread used between two looks. */
enum evidence_cpu {
    CPU_UNKNOWN, /* only one look, or two that were too close */
    CPU_HARDLY,  /* less than 1/20, and it did not go to sleep in between */
    CPU_SOME,
    CPU_MOST, /* at least half */
    CPU_COUNT
};

/* What the holder of a lock does. */
enum evidence_holder {
    HOLDER_UNKNOWN,
    HOLDER_SOUGHT, /* not known yet: no budget was left to find out */
    HOLDER_IDLE,   /* it waits for work; for a lock of one process, only in READY or INPUT */
    HOLDER_RUNS,
    HOLDER_STANDS, /* it is a suspect, or has ended */
    HOLDER_COUNT
};

/* The lock that a thread waits for, according to its ring or to its memory. */
struct evidence_lock {
    bool known;
    enum evidence_holder holder;
};

/* Everything known about the thread of one suspect. All zero: not examined. */
struct evidence {
    bool examined;
    bool on_no_thread;    /* the id is a coroutine that is switched out */
    bool thread_gone;     /* the thread does not exist, is a zombie, or is exiting */
    bool thread_replaced; /* its tid belongs to a thread that was started after the id was registered */
    bool core_dumping;    /* the process is writing a core file */
    bool frozen;          /* the cgroup is frozen */
    bool deadlocked;      /* its own wait is part of a cycle, with certainty */
    struct evidence_lock lock;
    enum evidence_wait wait;
    enum evidence_cpu cpu;
    uint8_t call;                 /* enum rip_call: what the thread announces */
    bool steady;                  /* it did not go to sleep for at least half its threshold */
    enum evidence_cpu steady_cpu; /* CPU time used in that period */
    char thread_state;            /* from /proc/PID/task/TID/stat; 0: not known */
    char process_state;           /* the same of the thread group leader, for an id on no thread; 0: not known */
};

/*
 * Returns the verdict of the first row that matches in the table in cause.c. For a suspect that was not examined:
 * stalled with CAUSE_NONE; or running with CAUSE_UNSEEN if what its thread announces needs evidence.
 */
struct verdict cause_judge(const struct evidence *evidence);

/*
 * Returns the verdict on a suspect that was not examined on this scan: its previous state, or for a new suspect the
 * verdict on what its thread announces.
 */
struct verdict cause_unexamined(const struct detector_suspect *suspect);

/* Whether the table has a row with this cause. */
bool cause_can_be_judged(enum id_cause cause);

#endif
