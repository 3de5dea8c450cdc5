/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h - decides if the process that a record claims is alive and can be believed to be that process. Pure.
 *
 * A pid in a record is a claim. The kernel's answers about locks, the pid and its start time decide (see
 * ripd/ring/README.md).
 */
#ifndef RIPD_RING_IDENTITY_H
#define RIPD_RING_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

enum process_verdict {
    PROCESS_UNKNOWN,  /* nothing is known: no privileged evidence, its ids are watched */
    PROCESS_ATTESTED, /* alive; the kernel names it as the holder of its lock */
    PROCESS_ALIVE,    /* alive, but not attested: it lost its lock, or never had it */
    PROCESS_MISSING,  /* looked gone on this scan; dead if the next scan agrees */
    PROCESS_DEAD,
};

/* Everything read about one process record on one scan. */
struct identity_facts {
    /* From the record. */
    uint32_t claimed_pid;
    uint64_t claimed_start_time_ticks; /* 0 = not known, or not yet: the next field limits it */
    uint64_t claimed_entered_ticks;    /* 0 = not known, or maybe before the process was started */
    bool claims_life_lock;
    bool same_boot;          /* the ring's boot id is this boot's, or not known */
    bool same_pid_namespace; /* the record's namespace is the reader's, or not known */
    bool exited;             /* the record says EXITED */
    bool execing;            /* the record says EXECING */
    uint32_t file_uid;       /* from mapping_owner() */

    /* From the kernel. */
    bool locks_known;    /* F_GETLK succeeded */
    uint32_t holder_pid; /* of the HOLDER byte, in the reader's namespace; 0 = none, or not visible here */
    bool life_locked;    /* the LIFE byte is locked; required for attestation */

    /*
     * From /proc, about pid, the candidate that the caller looked up. It is the holder if there is one. Otherwise it is
     * the claimed pid if that pid is valid in this namespace. Otherwise it is the pid attested earlier.
     */
    uint32_t pid; /* 0 = no candidate */
    bool pid_exists;
    bool pid_readable; /* the fields below were read */
    uint64_t pid_start_time_ticks;
    uint32_t pid_uid_real;
    uint32_t pid_uid_effective;
    uint32_t pid_uid_saved;
    uint32_t pid_in_namespace; /* its pid in its innermost pid namespace; 0 = not known */
};

/* Kept from scan to scan for each record. All zero at first. */
struct identity_memory {
    uint32_t missing_count; /* scans in a row on which the process looked gone */
};

enum process_verdict identity_judge(const struct identity_facts *facts, struct identity_memory *memory);

/*
 * Returns true if the pid that was looked up holds the lock but cannot be the process of the record: it is a foreign
 * locker, or it has changed its uid. The caller then judges as if the lock had no holder: it sets holder_pid to 0, and
 * looks up pid again. A record with a foreign holder that is not the claimed pid is judged PROCESS_UNKNOWN.
 */
bool identity_holder_is_foreign(const struct identity_facts *facts);

#endif
