/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_process.c - the process records of a ring: what they claim, what the kernel says, and the verdict, which is
 * ring/identity.c's. Touches the ring's descriptor (locks) and /proc.
 *
 * Guarantees
 *   1. Locks are asked about at every refresh, as long as there is time (registry_owner.c). /proc is asked about a
 *      process whose locks are as they were only every REGISTRY_RECHECK_NS: a lock goes when its process does. Without
 *      a lock /proc is asked every time.
 *   2. A pid found through a lock is looked up; where it cannot be the process of the record, the record is judged as
 * if nobody held the lock, so a stranger's lock changes no verdict.
 *   3. A zombie does not exist, unless only its first thread has ended. A process that /proc hides may exist.
 *   4. An embryo is no process, but keeps its ring from being dead for as long as its child may come to life.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/pidfd.h"
#include "os/proc.h"
#include "ring/registry_state.h"

enum { RECORDS_PER_TURN = 64 }; /* of a ring, before its owner's other rings have theirs */

#define EMBRYO_GRACE_NS UINT64_C(1000000000)  /* believed this long, whatever its parent does */
#define EMBRYO_LIMIT_NS UINT64_C(60000000000) /* and this long while its parent lives */

/* Facts ------------------------------------------------------------------------------------------------------------ */

static bool is_own_namespace(const struct registry *registry, const struct rip_process_info *claim)
{
    return claim->pid_namespace == 0 || registry->pid_namespace == 0 || claim->pid_namespace == registry->pid_namespace;
}

/* Whether pid exists although /proc does not show it. */
static bool is_hidden(const struct registry *registry, uint32_t pid)
{
    int descriptor;

    if (!registry->processes_hidden)
        return false;
    descriptor = pidfd_of(pid);
    if (descriptor >= 0)
        close(descriptor);
    return descriptor != -ESRCH;
}

static bool pid_exists(const struct registry *registry, uint32_t pid)
{
    struct proc_stat stat;
    int result = proc_stat(registry->proc, pid, &stat);

    if (result == -ESRCH)
        return is_hidden(registry, pid);
    return result != 0 || !proc_stat_ended(&stat);
}

/* Asks /proc about facts->pid. */
static void look_up_pid(const struct registry *registry, struct identity_facts *facts)
{
    struct proc_status status;
    struct proc_stat stat;
    int result;

    facts->pid_exists = false;
    facts->pid_readable = false;
    if (facts->pid == 0)
        return;
    result = proc_stat(registry->proc, facts->pid, &stat);
    if (result == 0)
        result = proc_stat_ended(&stat) ? -ESRCH : proc_status(registry->proc, facts->pid, &status);
    else if (result == -ESRCH && is_hidden(registry, facts->pid))
        result = -EACCES;
    facts->pid_exists = result != -ESRCH;
    if (result != 0)
        return;
    facts->pid_readable = true;
    facts->pid_start_time_ticks = stat.start_time_ticks;
    facts->pid_uid_real = status.uid_real;
    facts->pid_uid_effective = status.uid_effective;
    facts->pid_uid_saved = status.uid_saved;
    facts->pid_in_namespace = status.pid_in_namespace;
}

/* The pid to look up when no lock names one. */
static uint32_t candidate_without_lock(const struct identity_facts *facts, const struct ring_process *process)
{
    return facts->same_pid_namespace ? facts->claimed_pid : process->pid;
}

static struct identity_facts claimed_facts(const struct registry *registry, const struct ring *ring,
                                           const struct ring_process *process)
{
    const struct rip_process_info *claim = &process->claim;

    return (struct identity_facts){
        .claimed_pid = claim->pid,
        .claimed_start_time_ticks = claim->start_time_ticks,
        .claims_holder_lock = (claim->flags & RIP_PROCESS_HAS_HOLDER_LOCK) != 0,
        .claims_life_lock = (claim->flags & RIP_PROCESS_HAS_LIFE_LOCK) != 0,
        .same_boot = ring->same_boot,
        .same_pid_namespace = is_own_namespace(registry, claim),
        .exited = claim->state == RIP_PROCESS_EXITED,
        .execing = claim->state == RIP_PROCESS_EXECING,
        .file_uid = mapping_owner(&ring->mapping),
    };
}

/* A lock that does not name a visible pid is nobody's as far as the HOLDER byte goes. */
static void ask_locks(const struct ring *ring, uint32_t index, struct identity_facts *facts, uint32_t *ret_holder)
{
    const struct rip_view *view = &ring->mapping.view;
    uint32_t holder = 0, life = 0;

    facts->locks_known = file_lock_holder(ring->mapping.descriptor, view->lock_holder_offset + index, &holder) == 0 &&
                         file_lock_holder(ring->mapping.descriptor, view->lock_life_offset + index, &life) == 0;
    facts->holder_pid = holder != UINT32_MAX ? holder : 0;
    facts->life_locked = life != 0;
    *ret_holder = holder;
}

/* Judging ---------------------------------------------------------------------------------------------------------- */

/* What is left to be done after all facts are in. */
static void judge(const struct registry *registry, struct ring_process *process, struct identity_facts *facts)
{
    facts->pid = facts->holder_pid != 0 ? facts->holder_pid : candidate_without_lock(facts, process);
    look_up_pid(registry, facts);
    if (facts->holder_pid != 0 && identity_holder_is_foreign(facts)) {
        facts->holder_pid = 0;
        facts->pid = candidate_without_lock(facts, process);
        look_up_pid(registry, facts);
    }
    process->verdict = identity_judge(facts, &process->memory);
    if (process->verdict == PROCESS_ATTESTED || process->verdict == PROCESS_ALIVE) {
        process->pid = facts->pid;
        process->pid_start_time_ticks = facts->pid_start_time_ticks;
    }
}

/* Whether the locks say that nothing has changed since /proc was last asked. */
static bool locks_vouch(const struct ring_process *process, const struct identity_facts *facts, uint32_t holder,
                        uint64_t now_mono_ns)
{
    bool held = (process->verdict == PROCESS_ATTESTED && holder != 0) ||
                (process->verdict == PROCESS_ALIVE && facts->life_locked);

    return held && facts->locks_known && holder == process->holder_pid && facts->life_locked == process->life_locked &&
           !facts->exited && !facts->execing && process->checked_mono_ns != 0 &&
           now_mono_ns - process->checked_mono_ns < REGISTRY_RECHECK_NS;
}

static void notice_changes(struct registry *registry, struct ring *ring, const struct ring_process *process,
                           enum process_verdict before)
{
    char reason[64];

    snprintf(reason, sizeof(reason), "pid %u", process->pid != 0 ? process->pid : process->claim.pid);
    if (process->verdict == PROCESS_DEAD && before != PROCESS_DEAD && process->pid != 0)
        registry_notice(registry, NOTICE_PROCESS_DEAD, ring->name != NULL ? ring->name : ring->file_name, reason);
    if (process->verdict == PROCESS_ALIVE && (process->claim.flags & RIP_PROCESS_HAS_HOLDER_LOCK) != 0 &&
        !ring->warned_unattested) {
        registry_notice(registry, NOTICE_UNATTESTED, ring->name != NULL ? ring->name : ring->file_name, reason);
        ring->warned_unattested = true;
    }
}

static void judge_process(struct registry *registry, struct ring *ring, uint32_t index, uint64_t now_mono_ns)
{
    struct ring_process *process = &ring->processes[index];
    struct identity_facts facts = claimed_facts(registry, ring, process);
    enum process_verdict before = process->verdict;
    uint32_t holder, pid_before = process->pid;

    ask_locks(ring, index, &facts, &holder);
    if (!locks_vouch(process, &facts, holder, now_mono_ns)) {
        judge(registry, process, &facts);
        process->checked_mono_ns = now_mono_ns;
    }
    process->holder_pid = holder;
    process->life_locked = facts.life_locked;
    process->own_pid_namespace = facts.same_pid_namespace;
    process->present = !facts.exited;
    process->alive = !facts.exited && process->verdict != PROCESS_DEAD;
    if (process->verdict != before || process->pid != pid_before)
        registry_drop_facts(process);
    notice_changes(registry, ring, process, before);
}

/* Whether the child that a record is kept for may still enter. */
static bool embryo_may_live(const struct registry *registry, const struct ring *ring, uint32_t index)
{
    const struct ring_process *process = &ring->processes[index];
    const struct rip_process_info *claim = &process->claim;
    struct identity_facts facts = claimed_facts(registry, ring, process);
    uint64_t age_ns = clock_boot_ns() - claim->entered_boot_ns;
    uint32_t holder;

    ask_locks(ring, index, &facts, &holder);
    if (!ring->same_boot)
        return false;
    if (facts.life_locked || !facts.same_pid_namespace)
        return facts.life_locked || age_ns < EMBRYO_LIMIT_NS;
    if (facts.claims_life_lock && facts.locks_known)
        return false;
    if (claim->pid != 0)
        return age_ns < EMBRYO_LIMIT_NS && pid_exists(registry, claim->pid);
    return age_ns < EMBRYO_GRACE_NS || (age_ns < EMBRYO_LIMIT_NS && pid_exists(registry, claim->parent_pid));
}

bool registry_process_holds(const struct registry *registry, const struct ring *ring, uint32_t process)
{
    const struct ring_process *owner = &ring->processes[process];
    struct proc_stat stat;
    uint32_t holder;

    if (owner->verdict == PROCESS_ATTESTED &&
        (file_lock_holder(ring->mapping.descriptor, ring->mapping.view.lock_holder_offset + process, &holder) != 0 ||
         holder != owner->pid))
        return false;
    return owner->pid != 0 && proc_stat(registry->proc, owner->pid, &stat) == 0 &&
           stat.start_time_ticks == owner->pid_start_time_ticks;
}

/* Records ---------------------------------------------------------------------------------------------------------- */

static void clear_process(struct ring_process *process)
{
    registry_drop_facts(process);
    registry_forget_threads(process);
    *process = (struct ring_process){0};
}

/* Takes in what a record says now. */
static void take_claim(struct ring_process *process, const struct rip_process_info *claim)
{
    const struct rip_process_info *old = &process->claim;

    if (old->generation != claim->generation || old->pid != claim->pid ||
        old->start_time_ticks != claim->start_time_ticks || old->pid_namespace != claim->pid_namespace)
        clear_process(process); /* another process's, whatever was known of the last one */
    else if (old->module_count != claim->module_count || memcmp(old->comm, claim->comm, sizeof(old->comm)) != 0)
        registry_drop_facts(process);
    process->claim = *claim;
}

static int grow_processes(struct ring *ring, size_t count)
{
    struct ring_process *processes;
    uint8_t *dead;

    if (count <= ring->process_count)
        return 0;
    processes = realloc(ring->processes, count * sizeof(*processes));
    if (processes == NULL)
        return -ENOMEM;
    ring->processes = processes;
    dead = realloc(ring->dead, count);
    if (dead == NULL)
        return -ENOMEM;
    ring->dead = dead;
    memset(&processes[ring->process_count], 0, (count - ring->process_count) * sizeof(*processes));
    memset(&dead[ring->process_count], 0, count - ring->process_count);
    ring->process_count = count;
    return 0;
}

/* -EIO: the ring is damaged. */
static int refresh_record(struct registry *registry, struct ring *ring, uint32_t index, uint64_t now_mono_ns)
{
    struct ring_process *process = &ring->processes[index];
    struct rip_process_info claim;
    int result = mapping_process(&ring->mapping, index, &claim);

    if (result < 0)
        return result;
    if (result == 1) {
        clear_process(process); /* free, or being claimed */
    } else {
        take_claim(process, &claim);
        if (claim.state == RIP_PROCESS_EMBRYO)
            process->alive = embryo_may_live(registry, ring, index);
        else
            judge_process(registry, ring, index, now_mono_ns);
    }
    process->looked_at = true;
    ring->dead[index] = process->verdict == PROCESS_DEAD;
    return process->present ? registry_make_brief(registry, ring, process) : 0;
}

void registry_processes_begin(struct ring *ring)
{
    size_t count = ring->info.process_high_water;

    if (grow_processes(ring, count) != 0)
        count = ring->process_count < count ? ring->process_count : count; /* the others are not dead, just unknown */
    ring->records_left = (uint32_t)count;
}

void registry_processes_judge(struct registry *registry, struct ring *ring, uint64_t now_mono_ns)
{
    size_t count =
        ring->info.process_high_water < ring->process_count ? ring->info.process_high_water : ring->process_count;
    uint64_t began_mono_ns = clock_mono_ns();

    for (unsigned i = 0; i < RECORDS_PER_TURN && ring->records_left > 0 && registry_has_time(registry, ring); i++) {
        uint64_t ended_mono_ns;

        if (ring->next_record >= count)
            ring->next_record = 0;
        if (refresh_record(registry, ring, ring->next_record, now_mono_ns) != 0) {
            registry_damage(registry, ring);
            ring->records_left = 0;
            return;
        }
        ring->next_record++;
        ring->records_left--;
        ended_mono_ns = clock_mono_ns();
        registry_charge(registry, ring, ended_mono_ns - began_mono_ns);
        began_mono_ns = ended_mono_ns;
    }
}

/* Whether a process lives in it, as far as is known. */
bool registry_ring_lives(const struct ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++)
        if (ring->processes[i].alive || !ring->processes[i].looked_at)
            return true;
    return false;
}

/* Whether more than the ring's own word says that the process may live; an embryo is given its time. */
static bool is_held(const struct ring_process *process)
{
    return process->verdict != PROCESS_UNKNOWN || process->life_locked || process->holder_pid != 0 ||
           process->claim.state == RIP_PROCESS_EMBRYO;
}

/* Whether it is to be kept after its file has been removed: who just names somebody else's process does not keep it. */
bool registry_ring_is_held(const struct ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++) {
        const struct ring_process *process = &ring->processes[i];

        if (!process->looked_at || (process->alive && is_held(process)))
            return true;
    }
    return false;
}

void registry_processes_done(struct ring *ring)
{
    for (size_t i = 0; i < ring->process_count; i++)
        clear_process(&ring->processes[i]);
    free(ring->processes);
    free(ring->dead);
}
