/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_memory.c - what the memory of a thread says of the system call that it is in: how long it asked to sleep,
 * which descriptor it polls, and who owns the lock that it waits for. Touches /proc and the memory of the process,
 * which can make it wait.
 *
 * Guarantees
 *   1. What was read counts only if the thread has not run since its reading: then the system call is still the one
 *      whose arguments were followed.
 *   2. Only programs of 64 bits are read: those of others lay out what they pass in another way.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include "core/kernel.h"
#include "core/syscalls.h"
#include "os/clock.h"
#include "probe/kernel.h"

/* False: it cannot be had, which denied says if it is because we may not. */
static bool read_memory(struct kernel_reading *reading, uint64_t address, void *bytes, size_t size)
{
    struct iovec local = {bytes, size}, remote = {(void *)(uintptr_t)address, size};
    ssize_t length = process_vm_readv((pid_t)reading->pid, &local, 1, &remote, 1, 0);

    if (length < 0 && (errno == EPERM || errno == EACCES))
        reading->denied |= KERNEL_DENIED(MEMORY);
    return length == (ssize_t)size;
}

static bool has_run(int proc, const struct kernel_reading *reading)
{
    struct kernel_times after;

    return kernel_read_again(proc, reading, &after) != 0 || !kernel_has_not_run(&reading->times, &after);
}

/* How long it asked for ------------------------------------------------------------------------------------------- */

/* Where the duration is; 0: there is none, or the argument is an instant. */
static uint64_t duration_address(const struct kernel_reading *reading, const struct syscall_shape *shape)
{
    enum { FUTEX_COMMAND_MASK = 127, FUTEX_WAIT_COMMAND = 0 };
    const uint64_t *arguments = reading->call.arguments;

    if (shape->timeout_form != SYSCALL_TIMEOUT_TIMESPEC && shape->timeout_form != SYSCALL_TIMEOUT_TIMEVAL)
        return 0;
    if (shape->topic == SYSCALL_TOPIC_FUTEX && (arguments[1] & FUTEX_COMMAND_MASK) != FUTEX_WAIT_COMMAND)
        return 0; /* all others have instants */
    if (strcmp(shape->name, "clock_nanosleep") == 0 && (arguments[1] & TIMER_ABSTIME) != 0)
        return 0;
    return arguments[shape->timeout];
}

/* Of 64 bits each, in a program of 64 bits: struct timespec, or struct timeval. */
struct duration {
    int64_t seconds;
    int64_t fraction;
};

static bool take_duration(const struct duration *duration, bool in_microseconds, uint64_t *ret_ns)
{
    int64_t fractions_per_second = in_microseconds ? 1000000 : 1000000000;

    if (duration->seconds < 0 || duration->seconds > INT64_MAX / 1000000000 - 1 || duration->fraction < 0 ||
        duration->fraction >= fractions_per_second)
        return false;
    *ret_ns = (uint64_t)duration->seconds * 1000000000 + (uint64_t)(duration->fraction * (in_microseconds ? 1000 : 1));
    return true;
}

static void read_asked(int proc, const struct syscall_shape *shape, struct kernel_reading *reading)
{
    uint64_t address = duration_address(reading, shape), asked_ns;
    struct duration duration;

    if (address == 0 || !read_memory(reading, address, &duration, sizeof(duration)) ||
        !take_duration(&duration, shape->timeout_form == SYSCALL_TIMEOUT_TIMEVAL, &asked_ns) || has_run(proc, reading))
        return;
    reading->timeout_ns = asked_ns;
    reading->has |= KERNEL_HAS_TIMEOUT;
}

/* What it polls ---------------------------------------------------------------------------------------------------- */

/* Programs wait for a single peer with poll(), too. Of several it is not known which one they lack. */
static void read_polled(int proc, const struct syscall_shape *shape, struct kernel_reading *reading)
{
    const uint64_t *arguments = reading->call.arguments;
    struct proc_descriptor descriptor;
    struct pollfd polled;

    if (strstr(shape->name, "poll") == NULL || (uint32_t)arguments[shape->count] != 1 ||
        !read_memory(reading, arguments[0], &polled, sizeof(polled)) || polled.fd < 0 ||
        proc_descriptor(proc, reading->pid, (uint32_t)polled.fd, &descriptor) != 0 || has_run(proc, reading))
        return;
    reading->descriptor_number = (uint32_t)polled.fd;
    reading->descriptor = descriptor;
    reading->has |= KERNEL_HAS_DESCRIPTOR;
}

/* Who owns its lock ------------------------------------------------------------------------------------------------ */

static bool find_owner(struct kernel_reading *reading, const struct lock_wait_call *call,
                       struct lock_wait_owner *ret_owner)
{
    uint8_t bytes[LOCK_WAIT_BYTES];
    struct lock_wait_place place;
    size_t kind = 0;

    while (lock_wait_next_place(call, &kind, &place))
        if (read_memory(reading, place.address, bytes, place.size) && lock_wait_owner_of(call, kind, bytes, ret_owner))
            return true;
    return false;
}

static void read_owner(int proc, struct kernel_reading *reading)
{
    struct lock_wait_look look = {.begun_mono_ns = clock_mono_ns()};
    struct lock_wait_owner owner;
    struct lock_wait_call call;

    if (!lock_wait_call_of(reading->call.arguments, &call) || !find_owner(reading, &call, &owner))
        return;
    look.ended_mono_ns = clock_mono_ns();
    if (has_run(proc, reading))
        return;
    reading->lock_owner = owner;
    reading->lock_look = look;
    reading->has |= KERNEL_HAS_LOCK;
}

void kernel_read_memory(int proc, struct kernel_reading *reading)
{
    const struct syscall_shape *shape = syscall_shape_of(syscall_name(reading->call.number));

    if ((reading->has & KERNEL_HAS_SYSCALL) == 0 || reading->call.kind != PROC_SYSCALL_INSIDE ||
        reading->call.stack_pointer <= UINT32_MAX)
        return;
    read_asked(proc, shape, reading);
    if (shape->topic == SYSCALL_TOPIC_POLL)
        read_polled(proc, shape, reading);
    if (shape->topic == SYSCALL_TOPIC_FUTEX)
        read_owner(proc, reading);
}
