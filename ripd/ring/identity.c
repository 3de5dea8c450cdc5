/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.c - decides what to believe about one process record. Pure.
 *
 * Guarantees
 *   A. A different start time outweighs everything else. A reused pid is never taken for the process of the record. Nor
 *      is a stranger that inherited the lock through clone(CLONE_FILES).
 *   B. PROCESS_ATTESTED requires all of these. The kernel names the pid as the holder of the record's lock. The pid is
 *      the one claimed. Its start time is the one claimed. Its real, effective and saved uid are the file's owner's.
 *      The LIFE byte is locked: no exec since the process entered. If the owner is root, the real uid must be root's,
 *      or all three uids must be the same: no set-user-id program. If no start time is claimed yet, the start time must
 *      be before the time at which the process entered the ring. If that time is not known either, nothing is proven.
 *   C. The LIFE byte alone proves nothing: every process that may write to the file can lock it, and the lock does not
 *      name a holder. An unlocked byte means that the address space is gone, or that nothing is known about it. The
 *      worker of ripd-probe must be certain, so it looks for the ring in the process's memory (probe/child/attest.h).
 *   D. A living process of another user than the file's is PROCESS_UNKNOWN: a user can write any pid into a ring, and
 *      must not learn anything about that process.
 *   E. PROCESS_DEAD requires that two scans in a row found the process gone, unless the record itself says EXITED or
 *      the machine has been booted since. Before that it is PROCESS_MISSING. The registry reports only dead processes
 *      to the detector, so the ids of a missing process are still watched, and the probe must not examine them.
 */
#include "ring/identity.h"

#include <stddef.h>

#define IDENTITY_MISSING_SCANS 2u

/* The pid is the one claimed, translated to the namespace of the claim. */
static bool is_claimed_pid(const struct identity_facts *facts)
{
    if (facts->pid_in_namespace == facts->claimed_pid && facts->claimed_pid)
        return true;
    return facts->same_pid_namespace && facts->pid == facts->claimed_pid;
}

/*
 * Without a claimed start time, the time of entering decides: a later process with the same pid was started after the
 * earlier one had entered.
 */
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

/*
 * The code of the process has not changed since it entered, and it is not a set-user-id program of root's that another
 * user started.
 */
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

/* There was a pid to look up, and /proc had information about it. */
static bool is_read(const struct identity_facts *facts)
{
    return facts->pid && facts->pid_exists && facts->pid_readable;
}

static bool is_start_known(const struct identity_facts *facts)
{
    return facts->claimed_start_time_ticks != 0 || facts->claimed_entered_ticks != 0;
}

/* The pid is the one claimed, or its number in that namespace is not known. */
static bool may_be_claimed(const struct identity_facts *facts)
{
    return is_claimed_pid(facts) || (!facts->same_pid_namespace && !facts->pid_in_namespace);
}

/* See guarantee B. */
static bool is_attested(const struct identity_facts *facts)
{
    return is_holder(facts) && is_read(facts) && is_start_known(facts) && is_claimed_start(facts) &&
           may_be_claimed(facts) && is_owner(facts) && is_unchanged(facts);
}

/* The first rule that applies decides. */
static enum process_verdict verdict_of(const struct identity_facts *facts)
{
    if (facts->exited || !facts->same_boot)
        return PROCESS_DEAD;
    if (is_life_lost(facts))
        return PROCESS_MISSING;
    if (is_attested(facts))
        return PROCESS_ATTESTED;
    if (!facts->pid || (is_holder(facts) && !is_claimed_pid(facts)))
        return PROCESS_UNKNOWN;
    if (!facts->pid_exists)
        return PROCESS_MISSING;
    if (!facts->pid_readable)
        return PROCESS_UNKNOWN;
    if ((is_start_known(facts) && !is_claimed_start(facts)) || !may_be_claimed(facts))
        return PROCESS_MISSING;
    return is_owner(facts) ? PROCESS_ALIVE : PROCESS_UNKNOWN;
}

enum process_verdict identity_judge(const struct identity_facts *facts, struct identity_memory *memory)
{
    const enum process_verdict verdict = verdict_of(facts);

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
    return is_holder(facts) && !is_attested(facts);
}
