/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel.c - one look at one thread. Touches /proc below the given descriptor, and nothing else.
 *
 * Guarantees
 *   1. A reading is of one wait. If the thread ran or was woken during the reading, it is read again, up to ATTEMPTS
 *      times. If this fails each time, what the thread waits for is left out.
 *   2. It sends no signal, stops nothing, uses no ptrace and opens no file of the process. Only kernel_memory.c touches
 *      the memory of the process.
 */
#include "probe/kernel.h"

#include <errno.h>
#include <string.h>

#include "cases/kernel.h"
#include "cases/syscalls.h"
#include "os/clock.h"
#include "os/proc_locks.h"

enum { ATTEMPTS = 4 };

static bool is_denied(int result)
{
    return result == -EACCES || result == -EPERM;
}

/* Reads the times that show whether the thread has run. */
static int read_schedstat(int proc, uint32_t pid, uint32_t tid, struct kernel_times *times)
{
    struct proc_schedstat schedstat;
    int result = proc_thread_schedstat(proc, pid, tid, &schedstat);

    if (result != 0)
        return result;
    times->cpu_ns = schedstat.cpu_ns;
    times->wait_ns = schedstat.wait_ns;
    times->slice_count = schedstat.slice_count;
    return 0;
}

static int read_times(int proc, uint32_t pid, uint32_t tid, struct kernel_times *ret_times)
{
    struct proc_switches switches;
    struct proc_stat stat;
    int result = proc_thread_stat(proc, pid, tid, &stat);

    if (result != 0)
        return result;
    *ret_times = (struct kernel_times){
        .read_mono_ns = clock_mono_ns(),
        .state = stat.state,
        .flags = stat.flags,
        .start_time_ticks = stat.start_time_ticks,
        .user_ticks = stat.user_ticks,
        .system_ticks = stat.system_ticks,
    };
    result = read_schedstat(proc, pid, tid, ret_times);
    if (result == 0)
        result = proc_thread_switches(proc, pid, tid, &switches);
    if (result != 0)
        return result;
    ret_times->voluntary_count = switches.voluntary_count;
    ret_times->involuntary_count = switches.involuntary_count;
    return 0;
}

int kernel_read_again(int proc, const struct kernel_reading *reading, struct kernel_times *ret_times)
{
    *ret_times = reading->times;
    return read_schedstat(proc, reading->pid, reading->tid, ret_times);
}

static void read_wchan(int proc, struct kernel_reading *reading)
{
    int result = proc_thread_wchan(proc, reading->pid, reading->tid, reading->wchan);

    if (result == 0)
        reading->has |= KERNEL_HAS_WCHAN;
    else if (result == -ENODATA)
        reading->denied |= KERNEL_DENIED(WCHAN); /* a waiting thread has a wchan, so it is hidden */
}

void kernel_name_holder(int proc, uint32_t pid, struct kernel_reading *reading)
{
    struct proc_stat stat;

    if (proc_stat(proc, pid, &stat) != 0)
        return;
    reading->holder.pid = pid;
    memcpy(reading->holder.comm, stat.comm, sizeof(reading->holder.comm));
}

static void read_holder(int proc, struct kernel_reading *reading)
{
    if (proc_lock_holder(proc, reading->pid, reading->descriptor.inode, &reading->holder.pid) == 0)
        kernel_name_holder(proc, reading->holder.pid, reading);
}

/* Names the child that keeps its parent in vfork(): the last child, because the parent makes no other meanwhile. */
static void read_child(int proc, struct kernel_reading *reading)
{
    uint32_t children[PROC_CHILDREN_MAX];
    size_t count;

    if (proc_thread_children(proc, reading->pid, reading->tid, children, &count) == 0)
        kernel_name_holder(proc, children[count - 1], reading);
}

static void read_descriptor(int proc, const struct syscall_shape *shape, struct kernel_reading *reading)
{
    int result;

    reading->descriptor_number = (uint32_t)reading->call.arguments[0];
    result = proc_descriptor(proc, reading->pid, reading->descriptor_number, &reading->descriptor);
    if (is_denied(result))
        reading->denied |= KERNEL_DENIED(DESCRIPTORS);
    if (result != 0)
        return;
    reading->has |= KERNEL_HAS_DESCRIPTOR;
    if (shape->locks_file)
        read_holder(proc, reading);
}

static void read_call(int proc, struct kernel_reading *reading)
{
    const struct syscall_shape *shape;
    int result = proc_thread_syscall(proc, reading->pid, reading->tid, &reading->call);

    if (is_denied(result))
        reading->denied |= KERNEL_DENIED(SYSCALL);
    if (result != 0)
        return;
    reading->has |= KERNEL_HAS_SYSCALL;
    if (reading->call.kind != PROC_SYSCALL_INSIDE)
        return;
    shape = syscall_shape_of(syscall_name(reading->call.number));
    if (shape->topic == SYSCALL_TOPIC_DESCRIPTOR)
        read_descriptor(proc, shape, reading);
    if (shape->topic == SYSCALL_TOPIC_VFORK)
        read_child(proc, reading);
}

bool kernel_has_not_run(const struct kernel_times *before, const struct kernel_times *after)
{
    return before->state == after->state && before->state != 'R' && before->cpu_ns == after->cpu_ns &&
           before->slice_count == after->slice_count && before->voluntary_count == after->voluntary_count &&
           before->involuntary_count == after->involuntary_count;
}

/* Whether the thread was woken between the reads of its state and of its system call, even if it has not run yet. */
static bool is_awake(const struct kernel_reading *reading)
{
    return (reading->has & KERNEL_HAS_SYSCALL) != 0 && reading->call.kind == PROC_SYSCALL_RUNNING;
}

/* Removes from the reading what the thread waits for. */
static void forget_wait(struct kernel_reading *reading)
{
    *reading = (struct kernel_reading){.times = reading->times, .pid = reading->pid, .tid = reading->tid};
}

int kernel_read(int proc, uint32_t pid, uint32_t tid, enum kernel_depth depth, struct kernel_reading *ret_reading)
{
    struct kernel_reading reading = {.pid = pid, .tid = tid};
    struct kernel_times after;
    int result = -ESRCH;

    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        forget_wait(&reading);
        result = read_times(proc, pid, tid, &reading.times);
        if (result != 0 || depth == KERNEL_TIMES || reading.times.state == 'R')
            break; /* a thread in R waits for nothing; a sleep that begins now belongs to the next look */
        read_wchan(proc, &reading);
        read_call(proc, &reading);
        result = kernel_read_again(proc, &reading, &after);
        if (result != 0 || (!is_awake(&reading) && kernel_has_not_run(&reading.times, &after)))
            break;
        if (attempt + 1 == ATTEMPTS)
            forget_wait(&reading);
    }
    if (result == 0)
        *ret_reading = reading;
    return result;
}
