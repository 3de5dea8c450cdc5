/* SPDX-License-Identifier: Apache-2.0 */
/* stops.c - looks at the state of each process in turn. See stops.h. */
#include "ring/stops.h"

#include "detect/detector.h"
#include "os/proc.h"
#include "ring/ends.h"
#include "work/jobs.h"

static bool is_looked_up(const struct ring_process *process)
{
    return process->present && process->pid != 0 && process_lives(process);
}

/* Reads the state of the first thread: a signal stops all threads together. */
static enum id_cause stop_of(int proc, struct ring_process *process)
{
    struct proc_stat stat;
    bool traced;

    process->thread_count = 0;
    if (!process_stat(proc, process, &stat))
        return CAUSE_NONE;
    process->thread_count = stat.thread_count;
    process->waits_at_look = process->waits;
    if (stat.state != 'Z' && (stat.flags & PROC_FLAGS_KILLED) != 0)
        ends_note_dying(process->watch);
    traced = stat.state == 't' && process->was_traced;
    process->was_traced = stat.state == 't';
    return stat.state == 'T' ? CAUSE_SIGNAL : traced ? CAUSE_TRACER : CAUSE_NONE;
}

static void look(int proc, const char *cgroup_path, struct ring_process *process)
{
    bool frozen = false;

    if (cgroup_path != NULL && process->stop_looks++ % STOPS_FREEZER_EVERY == 0)
        process->frozen = proc_cgroup_frozen(proc, cgroup_path, process->pid, &frozen) == 0 && frozen;
    process->stop = (uint8_t)stop_of(proc, process);
    if (process->stop == CAUSE_NONE && process->frozen)
        process->stop = CAUSE_FREEZER;
}

static bool is_same_wait(const struct process_waits *waits, const struct process_waits *others)
{
    return waits->count == others->count && waits->progress == others->progress;
}

/*
 * Returns true if each of its threads waits for the others. All of them stood still between the scans that are
 * compared.
 */
static bool is_stuck(const struct ring_process *process)
{
    return process->thread_count >= STOPS_STUCK_THREADS && process->waits.count == process->thread_count &&
           is_same_wait(&process->waits, &process->waits_before) &&
           is_same_wait(&process->waits, &process->waits_at_look);
}

/* Returns what the detector needs to know about the ids of the process. */
static uint8_t condition_of(const struct ring_process *process)
{
    if (process->verdict == PROCESS_DEAD)
        return DETECTOR_DEAD;
    if (!is_looked_up(process))
        return DETECTOR_LIVES;
    return process->stop == CAUSE_NONE && is_stuck(process) ? DETECTOR_STUCK : process->stop;
}

/* Looks at the process, unless its user may have no more looks on this scan: then returns false. */
static bool look_within_share(struct ring_host *host, const struct ring *ring, struct ring_process *process)
{
    if (!work_has_room(host->work, ring->user, WORK_STOP_LOOKS, 1)) {
        work_stop(host->work, ring->user, WORK_STOP_LOOKS, ring->serial);
        return false;
    }
    (void)work_take(host->work, ring->user, WORK_STOP_LOOKS, 1);
    look(host->proc, host->cgroup_path, process);
    process->stop_pass = ring->stop_pass + 1;
    return true;
}

void stops_look(struct ring_host *host, struct ring *const *rings, size_t count)
{
    work_reset(host->work, WORK_STOP_LOOKS);
    for (size_t i = 0; i < count; i++) {
        struct ring *ring = rings[i];
        bool has_turn = work_has_turn(host->work, ring->user, WORK_STOP_LOOKS, ring->serial);

        for (size_t index = 0; index < ring->process_count; index++) {
            struct ring_process *process = &ring->processes[index];

            if (has_turn && is_looked_up(process) && process->stop_pass != ring->stop_pass + 1)
                has_turn = look_within_share(host, ring, process);
            ring->conditions[index] = condition_of(process);
        }
        ring->stop_pass += has_turn; /* all have been looked at */
    }
}
