/* SPDX-License-Identifier: Apache-2.0 */
/* unix_sockets.h - makers of unix sockets with abstract names, which end with the pid of this process. */
#ifndef TESTS_UNIT_UNIX_SOCKETS_H
#define TESTS_UNIT_UNIX_SOCKETS_H

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support/test.h"

static inline void make_pair(int type, int ends[2])
{
    assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
}

static inline void close_both(const int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

static inline int make_socket(int type, const char *name, int (*attach)(int, const struct sockaddr *, socklen_t))
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int made = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "%s-%d", name, (int)getpid());
    assert_int_equal(attach(made, (struct sockaddr *)&address, sizeof(address)), 0);
    return made;
}

/* Returns a socket with that name, which does not listen yet. */
static inline int make_server(int type, const char *name)
{
    return make_socket(type, name, bind);
}

/* Returns a socket that is connected to that name. */
static inline int make_client(int type, const char *name)
{
    return make_socket(type, name, connect);
}

#endif
