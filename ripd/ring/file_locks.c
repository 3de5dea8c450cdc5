/* SPDX-License-Identifier: Apache-2.0 */
/* file_locks.c - finds the processes that hold file locks, and what they do. See file_locks.h. */
#include "ring/file_locks.h"

#include <stdlib.h>
#include <string.h>

#include "os/clock.h"
#include "os/proc_locks.h"
#include "ring/host.h"
#include "work/jobs.h"

#define BATCH 128u
#define KNOWN 64u /* direct-mapped cache by pid, because many wait for few holders */

/* What a lock holder does. */
struct known_holder {
    const struct ring *ring; /* NULL = empty */
    uint32_t process;
    enum evidence_holder holder;
};

struct file_locks {
    const struct waits_source *source;
    struct known_holder known[KNOWN];
    size_t count;
    struct proc_lock_wait waits[PROC_LOCK_WAITS_MAX];
};

/* Who waits ------------------------------------------------------------------------------------------------------- */

/* Returns the record of the suspect's process, or NULL if the id has changed or there is none. */
static struct ring_process *process_of(struct ring *ring, const struct stall_case *stall)
{
    struct rip_id_info id;

    if (mapping_id(&ring->mapping, stall->slot, &id) != 0 || id.generation != stall->generation ||
        id.process >= ring->process_count || !process_lives(&ring->processes[id.process]))
        return NULL;
    return &ring->processes[id.process];
}

static bool waits_for_file(const struct stall_case *stall, const struct ring_process *process)
{
    const char *call = stall->kernel != NULL ? stall->kernel->syscall : NULL;

    if (call == NULL)
        return process->thread_count == 1;
    return strcmp(call, "flock") == 0 || strcmp(call, "fcntl") == 0;
}

static int compare_pids(const void *pid, const void *wait)
{
    const uint32_t one = *(const uint32_t *)pid, two = ((const struct proc_lock_wait *)wait)->pid;

    return (one > two) - (one < two);
}

/* Returns 0 if the process waits for no lock, or the holder is not known. */
static uint32_t holder_of(const struct file_locks *locks, uint32_t pid)
{
    const struct proc_lock_wait *wait =
        bsearch(&pid, locks->waits, locks->count, sizeof(locks->waits[0]), compare_pids);

    return wait != NULL ? wait->holder : 0;
}

/* Who holds it ----------------------------------------------------------------------------------------------------- */

/* Returns true if both have the same name and one is the parent of the other, or both have the same parent. */
static bool are_workers(int proc, const struct ring_process *one, const struct ring_process *two)
{
    struct proc_stat stat, other;

    if (!process_stat(proc, one, &stat) || !process_stat(proc, two, &other) || strcmp(stat.comm, other.comm) != 0)
        return false;
    return stat.parent_pid == two->pid || other.parent_pid == one->pid ||
           (stat.parent_pid > 1 && stat.parent_pid == other.parent_pid);
}

/* Returns process_count if the pid is not in this ring. */
static uint32_t find_pid(const struct ring *ring, uint32_t pid)
{
    uint32_t at = 0;

    while (at < ring->process_count && (ring->processes[at].pid != pid || !process_lives(&ring->processes[at])))
        at++;
    return at;
}

/* Returns the ring and the record of the worker that has this pid, or NULL if there is none. */
static struct ring *find_worker(struct registry *registry, struct ring *own, const struct ring_process *process,
                                uint32_t pid, uint32_t *ret_process)
{
    size_t count;
    struct ring **rings = registry_rings(registry, &count);

    *ret_process = find_pid(own, pid);
    if (*ret_process != own->process_count)
        return own;
    for (size_t i = 0; i < count; i++) {
        if (mapping_owner(&rings[i]->mapping) != mapping_owner(&own->mapping))
            continue;
        *ret_process = find_pid(rings[i], pid);
        if (*ret_process != rings[i]->process_count &&
            are_workers(registry_proc(registry), process, &rings[i]->processes[*ret_process]))
            return rings[i];
    }
    return NULL;
}

/* Returns what one id shows about the holder. HOLDER_RUNS: another id may show more. */
static enum evidence_holder state_of_id(const struct waits_source *source, const struct ring *ring,
                                        const struct rip_sample *sample)
{
    const struct stall_case *stall;

    if (sample->idle)
        return sample->call == RIP_CALL_READY || sample->call == RIP_CALL_INPUT ? HOLDER_IDLE : HOLDER_STANDS;
    stall = cases_find(source->cases, ring->serial, sample->slot, sample->generation);
    return stall != NULL && stall->is_suspect ? HOLDER_STANDS : HOLDER_RUNS;
}

/*
 * Returns HOLDER_STANDS if a thread is a suspect, or if none runs or waits for input from a descriptor. Otherwise, a
 * thread that runs may be about to release the lock, so nothing is known. If none runs, the holder is idle.
 */
static enum evidence_holder state_of(const struct waits_source *source, struct ring *ring, uint32_t process)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[BATCH];
    bool found[HOLDER_COUNT] = {false};
    bool accused = false;
    size_t count = BATCH;

    while (count == BATCH) {
        count = 0;
        if (mapping_scan(&ring->mapping, &position, samples, BATCH, &count) != 0)
            return HOLDER_UNKNOWN;
        for (size_t i = 0; i < count; i++) {
            enum evidence_holder holder;

            if (samples[i].process != process)
                continue;
            holder = state_of_id(source, ring, &samples[i]);
            found[holder] = true;
            accused |= holder == HOLDER_STANDS && !samples[i].idle;
        }
    }
    if (accused || (!found[HOLDER_RUNS] && !found[HOLDER_IDLE]))
        return HOLDER_STANDS;
    return found[HOLDER_RUNS] ? HOLDER_UNKNOWN : HOLDER_IDLE;
}

static enum evidence_holder known_state_of(struct file_locks *locks, uint32_t pid, struct ring *ring, uint32_t process)
{
    struct known_holder *known = &locks->known[pid % KNOWN];

    if (known->ring != ring || known->process != process)
        *known = (struct known_holder){ring, process, state_of(locks->source, ring, process)};
    return known->holder;
}

/* The whole -------------------------------------------------------------------------------------------------------- */

static void fill(struct file_locks *locks, struct stall_case *stall)
{
    struct registry *registry = locks->source->registry;
    struct ring *ring = registry_find(registry, stall->ring), *other;
    const struct ring_process *process = ring != NULL ? process_of(ring, stall) : NULL;
    const uint32_t pid = process != NULL && waits_for_file(stall, process) ? holder_of(locks, process->pid) : 0;
    uint32_t found;

    if (pid == 0)
        return;
    other = find_worker(registry, ring, process, pid, &found);
    stall->evidence.lock =
        (struct evidence_lock){true, other != NULL ? known_state_of(locks, pid, other, found) : HOLDER_STANDS};
    if (stall->evidence.lock.holder == HOLDER_UNKNOWN)
        stall->evidence.lock.known = false;
}

static bool is_candidate(const struct stall_case *stall, const struct waits *waits)
{
    return stall->is_suspect && stall->suspect.call == RIP_CALL_SHARED && stall->evidence.examined &&
           waits_find(waits, stall->ring, stall->slot, stall->generation) == WAITS_NONE;
}

static size_t queue(const struct waits_source *source, const struct waits *waits)
{
    size_t count, queued = 0;
    struct stall_case *const *stalls = cases_all(source->cases, &count);

    for (size_t i = 0; i < count; i++) {
        struct work_job job = {.subject = (uint32_t)i, .order = (i + source->sequence) * UINT64_C(0x9e3779b97f4a7c15)};

        if (is_candidate(stalls[i], waits))
            queued += work_push(source->work, stalls[i]->user, job) == 0;
    }
    return queued;
}

void file_locks_fill(const struct waits_source *source, const struct waits *waits)
{
    size_t count;
    struct stall_case *const *stalls = cases_all(source->cases, &count);
    struct file_locks *locks = queue(source, waits) != 0 ? calloc(1, sizeof(*locks)) : NULL;
    uint64_t deadline_mono_ns, now_mono_ns = 0;
    struct work_job job;
    uint32_t user;

    if (locks != NULL && proc_lock_waits(registry_proc(source->registry), locks->waits, &locks->count) == 0) {
        locks->source = source;
        deadline_mono_ns = clock_mono_ns() + FILE_LOCKS_NS;
        while (now_mono_ns < deadline_mono_ns && work_next(source->work, 0, UINT16_MAX, &job, &user)) {
            const uint64_t began_mono_ns = clock_mono_ns();

            fill(locks, stalls[job.subject]);
            now_mono_ns = clock_mono_ns();
            work_spend(source->work, user, now_mono_ns - began_mono_ns);
        }
    }
    free(locks);
    work_refuse_queued(source->work, WORK_PROCESS_TIME, UINT16_MAX);
}
