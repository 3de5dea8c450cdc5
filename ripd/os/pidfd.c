/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pidfd.c - holds on processes. Touches nothing but the descriptors it makes.
 *
 * Guarantees
 *   1. Holding one neither needs nor gives a privilege over the process.
 */
#include "os/pidfd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

int pidfd_of(uint32_t pid)
{
    long descriptor;

    if (pid == 0 || pid > INT_MAX)
        return -ESRCH;
    descriptor = syscall(SYS_pidfd_open, (int)pid, 0u); /* close-on-exec by itself */
    return descriptor >= 0 ? (int)descriptor : -errno;
}

bool pidfd_ended(int descriptor)
{
    struct pollfd entry = {.fd = descriptor, .events = POLLIN};

    return poll(&entry, 1, 0) != 0;
}
