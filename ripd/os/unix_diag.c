/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unix_diag.c - questions over a netlink socket. Touches that socket alone.
 *
 * Guarantees
 *   1. At most PACKETS_MAX packets are taken in for a question, so that it ends whatever comes.
 */
#include "os/unix_diag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

enum { PACKETS_MAX = 1024 }; /* of a list of sockets that listen, some hundreds are in each */

struct question {
    struct nlmsghdr header;
    struct unix_diag_req request;
};

int unix_diag_open(void)
{
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    return descriptor < 0 ? -errno : descriptor;
}

static bool has_option(int descriptor, int option, int expected)
{
    int value = -1;
    socklen_t length = sizeof(value);

    return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 && value == expected;
}

bool unix_diag_is(int descriptor)
{
    return has_option(descriptor, SO_DOMAIN, AF_NETLINK) && has_option(descriptor, SO_PROTOCOL, NETLINK_SOCK_DIAG);
}

/* The next packet, if the kernel sent it: its length, 0 if another did; -EAGAIN: there is none. */
static ssize_t receive(int descriptor, void *buffer, size_t capacity)
{
    struct sockaddr_nl sender = {.nl_pid = UINT32_MAX};
    struct iovec part = {buffer, capacity};
    struct msghdr message = {.msg_name = &sender, .msg_namelen = sizeof(sender), .msg_iov = &part, .msg_iovlen = 1};
    ssize_t bytes;

    do
        bytes = recvmsg(descriptor, &message, MSG_DONTWAIT);
    while (bytes < 0 && errno == EINTR);
    if (bytes < 0)
        return -errno;
    if ((message.msg_flags & MSG_TRUNC) != 0)
        return -EMSGSIZE;
    return message.msg_namelen == sizeof(sender) && sender.nl_pid == 0 ? bytes : 0;
}

/* What somebody before us left unread. */
static int throw_away(int descriptor, void *buffer, size_t capacity)
{
    ssize_t bytes = 0;

    for (int i = 0; i < PACKETS_MAX && (bytes >= 0 || bytes == -EMSGSIZE || bytes == -ENOBUFS); i++)
        bytes = receive(descriptor, buffer, capacity);
    return bytes == -EAGAIN ? 0 : bytes < 0 ? (int)bytes : -EBUSY;
}

/* Sends a question; its answers have the sequence number that its header gets here. */
static int ask(int descriptor, struct question *question)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct iovec part = {question, sizeof(*question)};
    struct msghdr message = {.msg_name = &kernel, .msg_namelen = sizeof(kernel), .msg_iov = &part, .msg_iovlen = 1};
    ssize_t bytes;

    question->header.nlmsg_len = sizeof(*question);
    question->header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question->header.nlmsg_seq = (uint32_t)clock_mono_ns(); /* another one than that of whoever asked before */
    question->request.sdiag_family = AF_UNIX;
    question->request.udiag_cookie[0] = question->request.udiag_cookie[1] = UINT32_MAX; /* any */
    do
        bytes = sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (bytes < 0 && errno == EINTR);
    return bytes < 0 ? -errno : 0;
}

/*
 * What a packet says: 0, the socket that was wanted; -EAGAIN: it is not in this one; -ENOENT: it is in none; another
 * -errno. A list is gone through for one that queues the socket of inode.
 */
static int read_packet(const unsigned char *bytes, size_t count, uint32_t sequence, uint32_t inode, bool list,
                       struct unix_diag *ret_socket)
{
    for (size_t at = 0; at < count;) {
        struct unix_diag_message message;
        int length = unix_diag_parse(bytes + at, count - at, list ? inode : 0, &message);

        if (length < 0)
            return length;
        at += (size_t)length;
        if (message.sequence != sequence)
            continue;
        if (message.kind == UNIX_DIAG_END)
            return -ENOENT;
        if (message.kind == UNIX_DIAG_ERROR)
            return message.error < 0 ? message.error : -EPROTO;
        if (message.kind == UNIX_DIAG_SOCKET && (list ? message.socket.queues : message.socket.inode == inode)) {
            *ret_socket = message.socket;
            return 0;
        }
    }
    return -EAGAIN;
}

static int find(int descriptor, struct question *question, uint32_t inode, bool list, struct unix_diag *ret_socket)
{
    unsigned char buffer[UNIX_DIAG_BUFFER_BYTES];
    int result = throw_away(descriptor, buffer, sizeof(buffer));

    if (result == 0)
        result = ask(descriptor, question);
    if (result != 0)
        return result;
    result = -EAGAIN;
    for (int i = 0; i < PACKETS_MAX && result == -EAGAIN; i++) {
        ssize_t bytes = receive(descriptor, buffer, sizeof(buffer));

        if (bytes < 0)
            return (int)bytes;
        result = read_packet(buffer, (size_t)bytes, question->header.nlmsg_seq, inode, list, ret_socket);
    }
    return result;
}

int unix_diag_ask(int descriptor, uint32_t inode, struct unix_diag *ret_socket)
{
    struct question question = {
        .header = {.nlmsg_flags = NLM_F_REQUEST},
        .request = {.udiag_ino = inode, .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER},
    };

    return inode == 0 ? -ENOENT : find(descriptor, &question, inode, false, ret_socket);
}

int unix_diag_find_listener(int descriptor, uint32_t inode, struct unix_diag *ret_listener)
{
    struct question question = {
        .header = {.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.udiag_states = 1u << UNIX_DIAG_LISTENING, .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_ICONS},
    };

    return inode == 0 ? -ENOENT : find(descriptor, &question, inode, true, ret_listener);
}
