/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packet.c - SOCK_SEQPACKET and SCM_RIGHTS. Touches only the given sockets.
 *
 * Guarantees
 *   1. A descriptor from the other end is either returned to the caller or closed.
 */
#include "os/packet.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"
#include "util/time_limit.h"

/* Room for one descriptor. The kernel closes further ones. */
union packet_control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int packet_pair(int ret_ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_ends) == 0 ? 0 : -errno;
}

int packet_send(int socket, const void *bytes, size_t count, int descriptor, bool wait)
{
    union packet_control control = {0};
    struct iovec part = {(void *)(uintptr_t)bytes, count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t sent;

    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        control.header =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(int));
    }
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL | (wait ? 0 : MSG_DONTWAIT));
    while (sent < 0 && errno == EINTR);
    if (sent >= 0)
        return 0;
    return errno == EPIPE || errno == ECONNRESET ? -EPIPE : -errno;
}

/* Returns the descriptor of a message, or -1. */
static int descriptor_of(struct msghdr *message)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    int descriptor = -1;

    if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
    return descriptor;
}

ssize_t packet_receive(int socket, void *buffer, size_t capacity, bool wait, int *ret_descriptor)
{
    union packet_control control;
    struct iovec part = {buffer, capacity};
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_LEN(sizeof(int)), /* CMSG_SPACE() has room for two */
    };
    ssize_t bytes;
    int descriptor;

    do
        bytes = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | (wait ? 0 : MSG_DONTWAIT));
    while (bytes < 0 && errno == EINTR);
    if (bytes < 0)
        return errno == ECONNRESET ? -EPIPE : -errno;
    descriptor = descriptor_of(&message);
    if (bytes > 0 && (message.msg_flags & MSG_TRUNC) == 0 && (message.msg_flags & MSG_CTRUNC) != 0 && descriptor < 0)
        bytes = -EMFILE;
    else if (bytes > 0 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        bytes = -EMSGSIZE;
    if (descriptor >= 0 && (bytes <= 0 || ret_descriptor == NULL)) {
        close(descriptor);
        descriptor = -1;
    }
    if (bytes > 0 && ret_descriptor != NULL)
        *ret_descriptor = descriptor;
    return bytes == 0 ? -EPIPE : bytes;
}

bool packet_await(int socket, uint64_t deadline_mono_ns)
{
    for (;;) {
        struct timespec left = clock_timespec(time_left_ns(deadline_mono_ns, clock_mono_ns()));
        struct pollfd descriptor = {.fd = socket, .events = POLLIN};
        int ready = ppoll(&descriptor, 1, &left, NULL);

        if (ready >= 0)
            return ready != 0;
        if (errno != EINTR)
            return true; /* the next call on the socket returns the error */
    }
}
