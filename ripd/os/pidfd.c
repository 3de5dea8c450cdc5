/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pidfd.c - pidfds of processes. Touches only the descriptors that it makes.
 *
 * Guarantees
 *   1. A pidfd neither needs nor gives a privilege over the process.
 */
#include "os/pidfd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>

/* The first version of struct pidfd_info of linux/pidfd.h, which the headers of Debian 12 do not have. */
struct pidfd_facts {
    uint64_t mask; /* in: the requested fields; out: the filled ones */
    uint64_t cgroup;
    uint32_t numbers[11]; /* pid, tgid, ppid, and eight uids and gids */
    int32_t exit_code;    /* a wait status */
};
#define PIDFD_ASK_FACTS _IOWR(0xff, 11, struct pidfd_facts)
#define PIDFD_EXIT_CODE 8u /* bit of mask */

int pidfd_of(uint32_t pid)
{
    int descriptor;

    if (pid == 0 || pid > INT_MAX)
        return -ESRCH;
    descriptor = pidfd_open((pid_t)pid, 0); /* always close-on-exec */
    return descriptor >= 0 ? descriptor : -errno;
}

bool pidfd_ended(int descriptor)
{
    struct pollfd entry = {.fd = descriptor, .events = POLLIN};

    return poll(&entry, 1, 0) != 0;
}

int pidfd_status(int descriptor, int *ret_status)
{
    struct pidfd_facts facts = {.mask = PIDFD_EXIT_CODE};

    if (ioctl(descriptor, PIDFD_ASK_FACTS, &facts) != 0)
        return errno == ESRCH ? -EAGAIN : -ENOTSUP;
    if ((facts.mask & PIDFD_EXIT_CODE) == 0)
        return -EAGAIN;
    *ret_status = facts.exit_code;
    return 0;
}
