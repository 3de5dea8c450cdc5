/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload_shield.c - keeps the ring's descriptor open, and hides it from the program.
 *
 * Closing it, or any copy of it, drops the POSIX lock by which a reader knows the process. So a program that
 * closes all it does not know (a daemon, a shell) finds nothing at that number: EBADF, as if it were not open.
 *
 * Guarantees
 *   A. A number that has become some other file's (closed by a raw system call, say) is the program's: the descriptor
 *      is ours only while it is the ring. Under a seccomp filter it counts as ours.
 *   B. dup2() and dup3() onto the number work: ours moves out of the way, or is given up under a seccomp filter.
 *   C. fstat(), fcntl() and dup() of the number answer EBADF as well. A list of /proc/self/fd has it.
 *   D. A child of vfork() or clone() without a ring of its own may close everything: it has its own descriptors.
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
    if (preload_filtered()) /* nobody can look any more */
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
    preload_descriptor_forget(fd); /* before the number is anybody else's */
    return PRELOAD_REAL(int, close, (int))(fd);
}

/* The two ranges beside the shielded number; either may be empty. */
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
    /* What marks descriptors close-on-exec cannot hurt ours, and bad arguments are the kernel's to refuse. */
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

/* Makes number to free of our descriptor. False, with errno, if from is not the program's to copy. */
static bool make_way(int from, int to)
{
    int shielded = rip__ring_fd();

    if (shielded < 0 || (from != shielded && to != shielded) || shielded_fd() < 0)
        return true;
    if (from == shielded) {
        errno = EBADF;
        return false;
    }
    if (preload_filtered())
        rip__writer.descriptor = -1; /* moving it would take system calls: it is given up */
    else
        rip__move_ring_fd();
    return true;
}

PRELOAD_WRAPPER(int, dup2, (int from, int to))
{
    int result = make_way(from, to) ? PRELOAD_REAL(int, dup2, (int, int))(from, to) : -1;

    preload_descriptor_copy(from, result);
    return result;
}

PRELOAD_WRAPPER(int, dup3, (int from, int to, int flags))
{
    int result = make_way(from, to) ? PRELOAD_REAL(int, dup3, (int, int, int))(from, to, flags) : -1;

    preload_descriptor_copy(from, result);
    return result;
}

/* A program that looks which numbers are open, to close or to count them. __fxstat() is of programs before glibc 2.33.
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

/* Only commands that wait for a lock are announced. All commands take at most one argument of a pointer's size. */
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
