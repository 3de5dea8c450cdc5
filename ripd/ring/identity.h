/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h - is the process that a record claims alive, and may we believe it is that one? Pure.
 *
 * A record's pid is a claim. The kernel's answers about locks, the pid and its start time decide (see
 * ripd/ring/README.md).
 */
#ifndef RIPD_RING_IDENTITY_H
#define RIPD_RING_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

enum process_verdict {
    PROCESS_UNKNOWN,  /* nothing can be said: no privileged evidence, its ids are watched */
    PROCESS_ATTESTED, /* alive, named by the kernel as the holder of its lock */
    PROCESS_ALIVE,    /* alive, but not attested: lock lost or never held */
    PROCESS_MISSING,  /* looked gone on this scan; dead if the next one agrees */
    PROCESS_DEAD,
};

/* Everything read on one scan about one process record. */
struct identity_facts {
    /* what the record says */
    uint32_t claimed_pid;
    uint64_t claimed_start_time_ticks; /* 0 = not known, or not yet: then when it entered the ring bounds it */
    uint64_t claimed_entered_ticks;    /* 0 = nor that, or it may have been before the process was started */
    bool claims_life_lock;
    bool same_boot;          /* the ring's boot id is this boot's, or not known */
    bool same_pid_namespace; /* the record's namespace is the reader's, or not known */
    bool exited;             /* the record says EXITED */
    bool execing;            /* the record says EXECING */
    uint32_t file_uid;       /* as mapping_owner() says */

    /* what the kernel says */
    bool locks_known;    /* F_GETLK could be asked */
    uint32_t holder_pid; /* of the HOLDER byte, in the reader's namespace; 0 = nobody, or not visible here */
    bool life_locked;    /* somebody holds the LIFE byte; nothing is attested without */

    /* what /proc says of `pid`, the candidate the caller looked up: the holder if there is one, else the claimed pid
       where that means anything in this namespace, else the pid attested earlier */
    uint32_t pid; /* 0 = there was none to look up */
    bool pid_exists;
    bool pid_readable; /* the fields below were read */
    uint64_t pid_start_time_ticks;
    uint32_t pid_uid_real;
    uint32_t pid_uid_effective;
    uint32_t pid_uid_saved;
    uint32_t pid_in_namespace; /* its pid in its innermost pid namespace; 0 = not known */
};

/* Carried from scan to scan for each record; all zero at first. */
struct identity_memory {
    uint32_t missing_count; /* scans in a row on which it looked gone */
};

enum process_verdict identity_judge(const struct identity_facts *facts, struct identity_memory *memory);

/*
 * The pid looked up holds the lock and yet cannot be the process of the record: a foreign locker, or one that gave up
 * its uid. The caller then judges as if nobody held it: holder_pid = 0, and `pid` looked up anew. Judged with a
 * foreign holder that is not the claimed pid, a record is PROCESS_UNKNOWN.
 */
bool identity_holder_is_foreign(const struct identity_facts *facts);

#endif
