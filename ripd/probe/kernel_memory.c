/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_memory.c - reads what the memory of a thread says about its system call: how long it asked to sleep, which
 * descriptor it polls, which paths or address it passed, and which thread holds the lock that it waits for. Touches
 * /proc and the memory of the process, which can make the read block.
 *
 * Guarantees
 *   1. What was read counts only if the thread has not run since its reading. Then the system call is still the one
 *      whose arguments were followed.
 *   2. Only 64-bit programs are read, because 32-bit programs use another layout.
 *   3. No more of a path is read than is shown, and no more of an address than the kernel accepts. No path is followed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

#include "cases/kernel.h"
#include "cases/syscalls.h"
#include "os/clock.h"
#include "probe/kernel.h"
#include "probe/kernel_names.h"

/* The page size is this, or a multiple. */
#define PAGE_BYTES 4096u

/*
 * Reads up to the first page that is not mapped, and returns how many bytes were read. The request is split at the page
 * boundary, because a request in one piece fails if any of its pages is missing. If it returns 0 for lack of rights,
 * denied says so.
 */
static size_t read_some(struct kernel_reading *reading, uint64_t address, void *bytes, size_t size)
{
    const size_t left = PAGE_BYTES - address % PAGE_BYTES, first = size < left ? size : left;
    struct iovec local = {bytes, size};
    struct iovec remote[] = {{(void *)(uintptr_t)address, first}, {(void *)(uintptr_t)(address + first), size - first}};
    ssize_t length = process_vm_readv((pid_t)reading->pid, &local, 1, remote, size > first ? 2 : 1, 0);

    _Static_assert(PROC_LINK_BYTES <= PAGE_BYTES && LOCK_WAIT_BYTES <= PAGE_BYTES, "two pages are enough");
    if (length < 0 && (errno == EPERM || errno == EACCES))
        reading->denied |= KERNEL_DENIED(MEMORY);
    return length > 0 ? (size_t)length : 0;
}

static bool read_memory(struct kernel_reading *reading, uint64_t address, void *bytes, size_t size)
{
    return read_some(reading, address, bytes, size) == size;
}

static bool has_run(int proc, const struct kernel_reading *reading)
{
    struct kernel_times after;

    return kernel_read_again(proc, reading, &after) != 0 || !kernel_has_not_run(&reading->times, &after);
}

/* How long it asked for ------------------------------------------------------------------------------------------- */

/* Returns the address of the duration, or 0 if there is none or the argument is a point in time. */
static uint64_t duration_address(const struct kernel_reading *reading, const struct syscall_shape *shape)
{
    enum { FUTEX_COMMAND_MASK = 127, FUTEX_WAIT_COMMAND = 0 };
    const uint64_t *arguments = reading->call.arguments;

    if (shape->timeout_form != SYSCALL_TIMEOUT_TIMESPEC && shape->timeout_form != SYSCALL_TIMEOUT_TIMEVAL)
        return 0;
    if (shape->topic == SYSCALL_TOPIC_FUTEX && (arguments[1] & FUTEX_COMMAND_MASK) != FUTEX_WAIT_COMMAND)
        return 0; /* all other commands take a point in time */
    if (strcmp(shape->names, "clock_nanosleep") == 0 && (arguments[1] & TIMER_ABSTIME) != 0)
        return 0;
    return arguments[shape->timeout];
}

/* A struct timespec or struct timeval of a 64-bit program. */
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

static void read_timeout(int proc, const struct syscall_shape *shape, struct kernel_reading *reading)
{
    uint64_t address = duration_address(reading, shape), asked_ns;
    struct duration duration;

    if (address == 0 || !read_memory(reading, address, &duration, sizeof(duration)) ||
        !take_duration(&duration, shape->timeout_form == SYSCALL_TIMEOUT_TIMEVAL, &asked_ns) || has_run(proc, reading))
        return;
    reading->timeout_ns = asked_ns;
    reading->has |= KERNEL_HAS_TIMEOUT;
}

/* Which descriptor ------------------------------------------------------------------------------------------------- */

static void read_descriptor(int proc, int32_t number, struct kernel_reading *reading)
{
    struct proc_descriptor descriptor;

    if (number < 0 || proc_descriptor(proc, reading->pid, (uint32_t)number, &descriptor) != 0 || has_run(proc, reading))
        return;
    reading->descriptor_number = (uint32_t)number;
    reading->descriptor = descriptor;
    reading->has |= KERNEL_HAS_DESCRIPTOR;
}

static bool is_eventfd(int proc, const struct kernel_reading *reading, int number)
{
    struct proc_descriptor descriptor;

    return number >= 0 && proc_descriptor(proc, reading->pid, (uint32_t)number, &descriptor) == 0 &&
           strcmp(descriptor.link, "anon_inode:[eventfd]") == 0;
}

/*
 * Programs use poll() also to wait for a single peer. Interpreters add an eventfd after it, by which their threads wake
 * each other. With more descriptors it is not known which one the thread needs.
 */
static void read_polled(int proc, const struct syscall_shape *shape, struct kernel_reading *reading)
{
    const uint64_t *arguments = reading->call.arguments;
    const uint32_t count = (uint32_t)arguments[shape->count];
    struct pollfd polled[2];

    if (strstr(shape->names, "poll") != NULL && (count == 1 || count == 2) &&
        read_memory(reading, arguments[0], polled, count * sizeof(polled[0])) &&
        (count == 1 || is_eventfd(proc, reading, polled[1].fd)))
        read_descriptor(proc, polled[0].fd, reading);
}

/* What it names ---------------------------------------------------------------------------------------------------- */

static void take_names(int proc, const struct proc_name names[SYSCALL_PATHS_MAX], struct kernel_reading *reading)
{
    if (has_run(proc, reading))
        return;
    memcpy(reading->names, names, sizeof(reading->names));
    reading->has |= KERNEL_HAS_NAMES;
}

/* Reads a path; "" if the address is NULL. */
static bool read_text(struct kernel_reading *reading, uint64_t address, struct proc_name *ret_name)
{
    unsigned char bytes[PROC_LINK_BYTES];

    if (address == 0) {
        *ret_name = (struct proc_name){.cut = false};
        return true;
    }
    return kernel_names_text(bytes, read_some(reading, address, bytes, sizeof(bytes)), ret_name);
}

static int32_t directory_of(const struct kernel_reading *reading, const struct syscall_path *path)
{
    return path->directory >= 0 ? (int32_t)reading->call.arguments[path->directory] : AT_FDCWD;
}

/* Finds the directory in which a path begins. Returns false if it is unknown or has no name. */
static bool read_base(int proc, const struct kernel_reading *reading, const struct syscall_path *path,
                      const struct proc_name *name, struct proc_name *ret_base)
{
    enum proc_base base = name->text[0] == '/' ? PROC_BASE_ROOT : PROC_BASE_CURRENT;
    int32_t directory = directory_of(reading, path);
    struct proc_descriptor descriptor;

    if (base == PROC_BASE_ROOT || directory == AT_FDCWD)
        return proc_thread_base(proc, reading->pid, reading->tid, base, ret_base) == 0 && ret_base->text[0] == '/';
    if (directory < 0 || proc_descriptor(proc, reading->pid, (uint32_t)directory, &descriptor) != 0 ||
        descriptor.link[0] != '/')
        return false;
    memcpy(ret_base->text, descriptor.link, sizeof(ret_base->text));
    ret_base->cut = descriptor.link_cut;
    return true;
}

/* Reads a path and makes it absolute. It stays as it was passed if its start directory is unknown. */
static bool read_path(int proc, const struct syscall_path *path, struct kernel_reading *reading,
                      struct proc_name *ret_name)
{
    struct proc_name name, base;

    if (!read_text(reading, reading->call.arguments[path->argument], &name))
        return false;
    if (path->directory != SYSCALL_AS_GIVEN && read_base(proc, reading, path, &name, &base))
        kernel_names_join(&base, &name, &name);
    *ret_name = name;
    return true;
}

/* Whether the call has a descriptor and an empty path, as fstat() and fexecve() make it. */
static bool refers_to_descriptor(const struct syscall_shape *shape, struct kernel_reading *reading)
{
    const struct syscall_path *path = &shape->paths[0];
    struct proc_name name;

    return path->directory >= 0 && shape->paths[1].argument == 0 && directory_of(reading, path) >= 0 &&
           read_text(reading, reading->call.arguments[path->argument], &name) && name.text[0] == '\0';
}

static void read_paths(int proc, const struct syscall_shape *shape, struct kernel_reading *reading)
{
    struct proc_name names[SYSCALL_PATHS_MAX] = {{.cut = false}};

    if (refers_to_descriptor(shape, reading)) {
        read_descriptor(proc, directory_of(reading, &shape->paths[0]), reading);
        return;
    }
    for (size_t i = 0; i < SYSCALL_PATHS_MAX && (i == 0 || shape->paths[i].argument != 0); i++)
        if (!read_path(proc, &shape->paths[i], reading, &names[i]))
            return;
    take_names(proc, names, reading);
}

/* The start of a struct msghdr of a 64-bit program. */
struct message {
    uint64_t address;
    uint32_t address_bytes;
    uint32_t padding;
};

static void read_address(int proc, const struct syscall_shape *shape, struct kernel_reading *reading)
{
    const uint64_t *arguments = &reading->call.arguments[shape->address];
    struct proc_name names[SYSCALL_PATHS_MAX] = {{.cut = false}};
    struct message message = {.address = arguments[0]};
    unsigned char bytes[KERNEL_ADDRESS_BYTES];

    if (shape->address_form == SYSCALL_ADDRESS_MESSAGE) {
        if (!read_memory(reading, arguments[0], &message, sizeof(message)))
            return;
    } else {
        message.address_bytes = (uint32_t)arguments[1];
    }
    if (message.address != 0 && message.address_bytes <= sizeof(bytes) &&
        read_memory(reading, message.address, bytes, message.address_bytes) &&
        kernel_names_address(bytes, message.address_bytes, &names[0]))
        take_names(proc, names, reading);
}

/* Who owns its lock ------------------------------------------------------------------------------------------------ */

static bool find_holder(struct kernel_reading *reading, const struct lock_wait_call *call,
                        struct lock_wait_holder *ret_holder)
{
    uint8_t bytes[LOCK_WAIT_BYTES];
    struct lock_wait_place place, holder;
    size_t kind = 0;

    while (lock_wait_next_place(call, &kind, &place)) {
        holder = place;
        if (read_memory(reading, place.address, bytes, place.size) && lock_wait_holder_place(kind, bytes, &holder) &&
            (holder.address == place.address || read_memory(reading, holder.address, bytes, holder.size)) &&
            lock_wait_holder_of(call, kind, bytes, ret_holder))
            return true;
    }
    return false;
}

static void read_holder(int proc, struct kernel_reading *reading)
{
    struct lock_wait_look look = {.begun_mono_ns = clock_mono_ns()};
    struct lock_wait_holder holder;
    struct lock_wait_call call;

    if (!lock_wait_call_of(reading->call.arguments, &call) || !find_holder(reading, &call, &holder))
        return;
    look.ended_mono_ns = clock_mono_ns();
    if (has_run(proc, reading))
        return;
    reading->lock_holder = holder;
    reading->lock_look = look;
    reading->has |= KERNEL_HAS_LOCK;
}

void kernel_read_memory(int proc, struct kernel_reading *reading)
{
    const struct syscall_shape *shape = syscall_shape_of(syscall_name(reading->call.number));

    if ((reading->has & KERNEL_HAS_SYSCALL) == 0 || reading->call.kind != PROC_SYSCALL_INSIDE ||
        reading->call.stack_pointer <= UINT32_MAX)
        return;
    read_timeout(proc, shape, reading);
    if (shape->topic == SYSCALL_TOPIC_POLL)
        read_polled(proc, shape, reading);
    if (shape->topic == SYSCALL_TOPIC_PATH)
        read_paths(proc, shape, reading);
    if (shape->address_form != SYSCALL_ADDRESS_NONE)
        read_address(proc, shape, reading);
    if (shape->topic == SYSCALL_TOPIC_FUTEX)
        read_holder(proc, reading);
}
