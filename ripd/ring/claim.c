/* SPDX-License-Identifier: Apache-2.0 */
/* claim.c - see claim.h. */
#include "ring/claim.h"

#include <errno.h>

#include "os/clock.h"
#include "os/proc.h"

#define SECOND_NS UINT64_C(1000000000)

/* A record that is reserved for a child is older than the child, so its time of entering is of no use. */
static uint64_t entered_ticks(const struct rip_process_info *claim)
{
    const bool is_own = claim->state == RIP_PROCESS_LIVE || claim->state == RIP_PROCESS_EXECING;

    return is_own ? claim->entered_boot_ns / (SECOND_NS / clock_ticks_per_second()) : 0;
}

struct identity_facts claim_facts(const struct mapping *mapping, const struct rip_process_info *claim,
                                  uint64_t own_pid_namespace)
{
    return (struct identity_facts){
        .claimed_pid = claim->pid,
        .claimed_start_time_ticks = claim->start_time_ticks,
        .claimed_entered_ticks = entered_ticks(claim),
        .claims_life_lock = (claim->flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0,
        .same_boot = true,
        .same_pid_namespace =
            claim->pid_namespace == 0 || own_pid_namespace == 0 || claim->pid_namespace == own_pid_namespace,
        .exited = claim->state == RIP_PROCESS_EXITED,
        .execing = claim->state == RIP_PROCESS_EXECING,
        .file_uid = mapping_owner(mapping),
    };
}

/* If the pid of a HOLDER lock is not visible here, the lock counts as one without a holder. */
uint32_t claim_ask_locks(const struct mapping *mapping, uint32_t index, struct identity_facts *facts)
{
    uint32_t holder = 0, life = 0;

    facts->locks_known =
        file_lock_holder(mapping->descriptor, mapping->view.lock_holder_offset + index, &holder) == 0 &&
        file_lock_holder(mapping->descriptor, mapping->view.lock_life_offset + index, &life) == 0;
    facts->holder_pid = holder != UINT32_MAX ? holder : 0;
    facts->life_locked = life != 0;
    return holder;
}

int claim_look_up(int proc, struct identity_facts *facts)
{
    struct proc_status status;
    struct proc_stat stat;
    const int found = proc_stat(proc, facts->pid, &stat);
    int result = found;

    if (result == 0)
        result = proc_stat_ended(&stat) ? -ESRCH : proc_status(proc, facts->pid, &status);
    facts->pid_exists = result != -ESRCH;
    facts->pid_readable = result == 0;
    if (result != 0)
        return found;
    facts->pid_start_time_ticks = stat.start_time_ticks;
    facts->pid_uid_real = status.uid_real;
    facts->pid_uid_effective = status.uid_effective;
    facts->pid_uid_saved = status.uid_saved;
    facts->pid_in_namespace = status.pid_in_namespace;
    return 0;
}
