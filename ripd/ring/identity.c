/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.c - the truth table about one process record. Pure.
 *
 * Guarantees
 *   A. Another start time outweighs everything else: a reused pid, or a lock that outlived its owner through
 *      clone(CLONE_FILES) and now names a stranger, is never taken for the process of the record.
 *   B. PROCESS_ATTESTED takes all of: the kernel names the pid as the holder of the record's lock, the pid is the one
 *      claimed, its start time is the one claimed, its real, effective and saved uid are the file's owner's, and the
 *      LIFE byte is locked: no exec since the process entered. Where the owner is root, the real uid is root's, or all
 *      three are one other user's: not those of a set-user-id program. A start time that is not claimed yet lies before
 *      the time at which the process entered the ring; where that is not known either, nothing is proven.
 *   C. The LIFE byte alone proves nothing: every process that may write the file can lock it, and the lock names no
 *      holder. An unlocked byte says that the address space is gone, or that nothing can be known of it. The worker of
 *      ripd-probe, which must be certain, looks for the ring in the process's memory (probe/child/attest.h).
 *   D. A living process of another user than the file's is PROCESS_UNKNOWN: a user can write any pid into a ring of his
 *      own, and must not learn anything about that process.
 *   E. PROCESS_DEAD takes two scans in a row that found the process gone, except where the record itself says EXITED or
 *      the machine has been booted since. Meanwhile it is PROCESS_MISSING: the registry gives the detector only the
 *      dead, so the ids of a missing process are still watched, and the probe must not examine them.
 */
#include "ring/identity.h"

#include <stddef.h>

#define IDENTITY_MISSING_SCANS 2u

#define FACT_ENDED 0x1u       /* the record says EXITED, or is of another boot */
#define FACT_LIFE_LOST 0x2u   /* the address space that the record was made in is gone */
#define FACT_CANDIDATE 0x4u   /* there was a pid to look up */
#define FACT_EXISTS 0x8u      /* and it exists */
#define FACT_READABLE 0x10u   /* and its start time can be read */
#define FACT_SAME_START 0x20u /* which is the one claimed, or none is claimed */
#define FACT_SAME_PID 0x40u   /* and its number is the one claimed, or not known */
#define FACT_ATTESTED 0x80u   /* guarantee B */
#define FACT_FOREIGN 0x100u   /* the candidate is the holder, is not attested, and is not the pid claimed */
#define FACT_OWNER 0x200u     /* and all its uids are those of the file's owner, or the owner is root */

struct identity_row {
    unsigned all_of;
    unsigned none_of;
    enum process_verdict verdict;
};

/* The first row that matches. */
static const struct identity_row identity_rows[] = {
    {FACT_ENDED, 0, PROCESS_DEAD},
    {FACT_LIFE_LOST, 0, PROCESS_MISSING},
    {FACT_ATTESTED, 0, PROCESS_ATTESTED},
    {FACT_FOREIGN, 0, PROCESS_UNKNOWN},
    {0, FACT_CANDIDATE, PROCESS_UNKNOWN},
    {0, FACT_EXISTS, PROCESS_MISSING},
    {0, FACT_READABLE, PROCESS_UNKNOWN},
    {0, FACT_SAME_START, PROCESS_MISSING},
    {0, FACT_SAME_PID, PROCESS_MISSING},
    {0, FACT_OWNER, PROCESS_UNKNOWN},
    {0, 0, PROCESS_ALIVE},
};

/* pid is the claimed one, as a number of the namespace in which it was claimed. */
static bool is_claimed_pid(const struct identity_facts *facts)
{
    if (facts->pid_in_namespace == facts->claimed_pid && facts->claimed_pid)
        return true;
    return facts->same_pid_namespace && facts->pid == facts->claimed_pid;
}

/* Of two processes with that pid the later one was started after the earlier one had entered. */
static bool is_claimed_start(const struct identity_facts *facts)
{
    const uint64_t claimed = facts->claimed_start_time_ticks, entered = facts->claimed_entered_ticks;

    if (claimed != 0)
        return facts->pid_start_time_ticks == claimed;
    return facts->pid_start_time_ticks != 0 && facts->pid_start_time_ticks <= entered;
}

static bool is_owner(const struct identity_facts *facts)
{
    const uint32_t owner = facts->file_uid;

    return owner == 0 ||
           (facts->pid_uid_real == owner && facts->pid_uid_effective == owner && facts->pid_uid_saved == owner);
}

/* Its code has not changed since it entered; and it is no set-user-id program of root's that somebody else started. */
static bool is_unchanged(const struct identity_facts *facts)
{
    const uint32_t real = facts->pid_uid_real;

    return facts->life_locked &&
           (facts->file_uid != 0 || real == 0 || (facts->pid_uid_effective == real && facts->pid_uid_saved == real));
}

static bool is_life_lost(const struct identity_facts *facts)
{
    return (facts->claims_life_lock || facts->execing) && facts->locks_known && !facts->life_locked;
}

static bool is_holder(const struct identity_facts *facts)
{
    return facts->locks_known && facts->pid && facts->holder_pid == facts->pid;
}

static unsigned facts_of(const struct identity_facts *facts)
{
    const bool start_known = facts->claimed_start_time_ticks != 0 || facts->claimed_entered_ticks != 0;
    const bool read = facts->pid && facts->pid_exists && facts->pid_readable;
    const bool start_equal = read && is_claimed_start(facts);
    const bool claimed = is_claimed_pid(facts);
    const bool number_unknown = !facts->same_pid_namespace && !facts->pid_in_namespace;
    const bool same_pid = claimed || number_unknown;
    const bool owner = read && is_owner(facts);
    const bool attested = is_holder(facts) && start_known && start_equal && same_pid && owner && is_unchanged(facts);

    return (facts->exited || !facts->same_boot ? FACT_ENDED : 0) | (is_life_lost(facts) ? FACT_LIFE_LOST : 0) |
           (facts->pid ? FACT_CANDIDATE : 0) | (facts->pid_exists ? FACT_EXISTS : 0) | (read ? FACT_READABLE : 0) |
           (start_equal || !start_known ? FACT_SAME_START : 0) | (same_pid ? FACT_SAME_PID : 0) |
           (owner ? FACT_OWNER : 0) | (attested ? FACT_ATTESTED : 0) |
           (is_holder(facts) && !attested && !claimed ? FACT_FOREIGN : 0);
}

static enum process_verdict verdict_of(unsigned facts)
{
    const struct identity_row *row = identity_rows;

    while ((facts & row->all_of) != row->all_of || (facts & row->none_of))
        row++;
    return row->verdict;
}

enum process_verdict identity_judge(const struct identity_facts *facts, struct identity_memory *memory)
{
    const enum process_verdict verdict = verdict_of(facts_of(facts));

    if (verdict != PROCESS_MISSING) {
        memory->missing_count = 0;
        return verdict;
    }
    if (memory->missing_count < IDENTITY_MISSING_SCANS)
        memory->missing_count++;
    return memory->missing_count < IDENTITY_MISSING_SCANS ? PROCESS_MISSING : PROCESS_DEAD;
}

bool identity_holder_is_foreign(const struct identity_facts *facts)
{
    return is_holder(facts) && !(facts_of(facts) & FACT_ATTESTED);
}
