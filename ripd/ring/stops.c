/* SPDX-License-Identifier: Apache-2.0 */
/* stops.c - looks at the state of each process in turn. See stops.h. */
#include "ring/stops.h"

#include "detect/detector.h"
#include "os/proc.h"
#include "ring/ends.h"

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

void stops_look(int proc, const char *cgroup_path, struct ring *const *rings, size_t count, uint32_t *pass)
{
    unsigned looks = 0;

    for (size_t i = 0; i < count; i++) {
        struct ring *ring = rings[i];

        for (size_t index = 0; index < ring->process_count; index++) {
            struct ring_process *process = &ring->processes[index];

            if (is_looked_up(process) && process->stop_pass != *pass + 1 && looks < STOPS_PER_REFRESH) {
                look(proc, cgroup_path, process);
                process->stop_pass = *pass + 1;
                looks++;
            }
            ring->conditions[index] = condition_of(process);
        }
    }
    *pass += looks < STOPS_PER_REFRESH; /* all have been looked at */
}
