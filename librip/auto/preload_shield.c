/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_shield.c - keeps the ring's descriptor open, and hides it from the program.
 *
 * Closing the descriptor, or any duplicate of it, releases the POSIX lock by which readers recognize the process.
 * Daemons and shells close all descriptors that they do not know. For them the number is not open: close() fails with
 * EBADF.
 *
 * Guarantees
 *   A. If the number has become another file's (after a close() by a raw system call, for example), it belongs to the
 *      program: the number is hidden only while it is the ring. Under a seccomp filter it always counts as the ring.
 *   B. dup2() and dup3() onto the number work: the ring's descriptor gets another number, or, under a seccomp filter,
 *      is given up.
 *   C. fstat(), fcntl() and dup() of the number fail with EBADF, too. /proc/self/fd still lists it.
 *   D. A child of vfork() or clone() without its own ring may close everything: it has its own descriptors.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "preload.h"
#include "writer.h"

/* The ring's descriptor, or -1 if there is none to shield. Keeps errno. */
static int shielded_fd(void)
{
    int fd = rip__ring_fd();
    int saved_errno = errno;

    if (fd < 0 || !preload_is_ours())
        return -1;
    if (preload_filtered()) /* fstat() is not allowed any more */
        return fd;
    if (!rip__file_is_ring(fd))
        fd = -1;
    errno = saved_errno;
    return fd;
}

bool preload_is_hidden(int fd)
{
    return __builtin_expect(fd == rip__ring_fd(), 0) && fd >= 0 && fd == shielded_fd();
}

int preload_refuse(void)
{
    errno = EBADF;
    return -1;
}

PRELOAD_WRAPPER(int, close, (int fd))
{
    if (preload_is_hidden(fd))
        return preload_refuse();
    preload_descriptor_forget(fd); /* before another thread can get the number */
    return PRELOAD_REAL(int, close, (int))(fd);
}

/* Closes the ranges below and above the shielded number; either may be empty. */
static int close_around(unsigned int first, unsigned int last, int flags, unsigned int shielded)
{
    int result = 0;

    if (first < shielded)
        result = PRELOAD_REAL(int, close_range, (unsigned int, unsigned int, int))(first, shielded - 1, flags);
    if (result == 0 && shielded < last)
        result = PRELOAD_REAL(int, close_range, (unsigned int, unsigned int, int))(shielded + 1, last, flags);
    return result;
}

PRELOAD_WRAPPER(int, close_range, (unsigned int first, unsigned int last, int flags))
{
    int shielded = shielded_fd();

    if (((unsigned int)flags & CLOSE_RANGE_CLOEXEC) == 0)
        preload_descriptors_forget(first, last);
    /* CLOSE_RANGE_CLOEXEC does not harm the ring's descriptor. The kernel rejects bad arguments. */
    if (shielded < 0 || (unsigned int)shielded < first || (unsigned int)shielded > last ||
        ((unsigned int)flags & CLOSE_RANGE_CLOEXEC) != 0)
        return PRELOAD_REAL(int, close_range, (unsigned int, unsigned int, int))(first, last, flags);
    return close_around(first, last, flags, (unsigned int)shielded);
}

PRELOAD_WRAPPER(void, closefrom, (int first))
{
    int shielded = shielded_fd();

    preload_descriptors_forget(first > 0 ? (unsigned int)first : 0, UINT_MAX);
    if (shielded >= 0 && shielded >= first) {
        unsigned int low = first > 0 ? (unsigned int)first : 0;

        if (close_around(low, UINT_MAX, 0, (unsigned int)shielded) == 0)
            return;
        for (int fd = (int)low; fd < shielded; fd++) /* a kernel without close_range() */
            (void)PRELOAD_REAL(int, close, (int))(fd);
        first = shielded + 1;
    }
    PRELOAD_REAL(void, closefrom, (int))(first);
}

/* Moves the ring's descriptor away from the number to. Returns false, with errno, if from is the ring's descriptor. */
static bool move_ring_away(int from, int to)
{
    int shielded = rip__ring_fd();

    if (shielded < 0 || (from != shielded && to != shielded) || shielded_fd() < 0)
        return true;
    if (from == shielded) {
        errno = EBADF;
        return false;
    }
    if (preload_filtered())
        rip__writer.descriptor = -1; /* moving the descriptor would take system calls, so give it up */
    else
        rip__move_ring_fd();
    return true;
}

PRELOAD_WRAPPER(int, dup2, (int from, int to))
{
    int result = move_ring_away(from, to) ? PRELOAD_REAL(int, dup2, (int, int))(from, to) : -1;

    preload_descriptor_copy(from, result);
    return result;
}

PRELOAD_WRAPPER(int, dup3, (int from, int to, int flags))
{
    int result = move_ring_away(from, to) ? PRELOAD_REAL(int, dup3, (int, int, int))(from, to, flags) : -1;

    preload_descriptor_copy(from, result);
    return result;
}

/*
 * Programs use fstat() to find out which numbers are open, to close or to count them. Programs built with a glibc
 * before 2.33 call __fxstat().
 */
PRELOAD_WRAPPER(int, fstat, (int fd, struct stat *status))
{
    return preload_is_hidden(fd) ? preload_refuse() : PRELOAD_REAL(int, fstat, (int, struct stat *))(fd, status);
}

PRELOAD_WRAPPER(int, fstat64, (int fd, struct stat *status))
{
    return preload_is_hidden(fd) ? preload_refuse() : PRELOAD_REAL(int, fstat64, (int, struct stat *))(fd, status);
}

PRELOAD_WRAPPER(int, __fxstat, (int version, int fd, struct stat *status))
{
    return preload_is_hidden(fd) ? preload_refuse()
                                 : PRELOAD_REAL(int, __fxstat, (int, int, struct stat *))(version, fd, status);
}

PRELOAD_WRAPPER(int, __fxstat64, (int version, int fd, struct stat *status))
{
    return preload_is_hidden(fd) ? preload_refuse()
                                 : PRELOAD_REAL(int, __fxstat64, (int, int, struct stat *))(version, fd, status);
}

static bool waits_for_lock(int command)
{
    return command == F_SETLKW || command == F_OFD_SETLKW;
}

/* Only commands that wait for a lock are announced. No command takes more than one argument of a pointer's size. */
#define FCNTL(name)                                                                                                    \
    PRELOAD_WRAPPER(int, name, (int fd, int command, ...))                                                             \
    {                                                                                                                  \
        preload_outer outer = 0;                                                                                       \
        va_list arguments;                                                                                             \
        void *argument;                                                                                                \
        int result;                                                                                                    \
                                                                                                                       \
        if (preload_is_hidden(fd))                                                                                     \
            return preload_refuse();                                                                                   \
        va_start(arguments, command);                                                                                  \
        argument = va_arg(arguments, void *);                                                                          \
        va_end(arguments);                                                                                             \
        if (waits_for_lock(command))                                                                                   \
            outer = preload_begin(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_SHARED);           \
        result = PRELOAD_REAL(int, name, (int, int, ...))(fd, command, argument);                                      \
        if (waits_for_lock(command))                                                                                   \
            preload_end(__builtin_return_address(0), __builtin_frame_address(0), RIP_CALL_SHARED, outer);              \
        if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)                                                          \
            preload_descriptor_copy(fd, result);                                                                       \
        return result;                                                                                                 \
    }

FCNTL(fcntl)
FCNTL(fcntl64)
