/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unix_diag.c - sends queries over a netlink socket and parses the answers. Touches only that socket.
 *
 * Guarantees
 *   1. At most PACKETS_MAX packets are received for a query, so it ends whatever arrives.
 *   2. The parser reads nothing beyond the given bytes. On failure its output is untouched. A name has no zero byte
 *      before its end. Another process chose it, so it may contain any other byte.
 */
#include "os/unix_diag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

#define ALIGN(count) (((count) + 3) & ~(size_t)3) /* NLMSG_ALIGN and NLA_ALIGN, but unsigned */

enum { PACKETS_MAX = 1024 }; /* a packet has some hundreds of listening sockets */

/* Messages: bytes in, values out ----------------------------------------------------------------------------------- */

void unix_diag_name(const unsigned char *bytes, size_t count, char ret_name[UNIX_DIAG_NAME_BYTES])
{
    size_t length = count < UNIX_DIAG_NAME_BYTES - 1 ? count : UNIX_DIAG_NAME_BYTES - 1;

    if (count != 0 && bytes[0] != '\0')
        length = strnlen((const char *)bytes, length);
    memset(ret_name, 0, UNIX_DIAG_NAME_BYTES);
    for (size_t i = 0; i < length; i++)
        ret_name[i] = bytes[i] != '\0' ? (char)bytes[i] : '@';
}

static uint32_t take_word(const unsigned char *bytes)
{
    uint32_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

static void take_attribute(unsigned type, const unsigned char *bytes, size_t count, uint32_t queued,
                           struct unix_diag *socket)
{
    switch (type & (unsigned)NLA_TYPE_MASK) {
    case UNIX_DIAG_NAME:
        unix_diag_name(bytes, count, socket->name);
        break;
    case UNIX_DIAG_PEER:
        socket->has_peer = count == sizeof(uint32_t);
        socket->peer_inode = socket->has_peer ? take_word(bytes) : 0;
        break;
    case UNIX_DIAG_ICONS:
        for (size_t at = 0; queued != 0 && count - at >= sizeof(uint32_t); at += sizeof(uint32_t))
            socket->queues |= take_word(bytes + at) == queued;
        break;
    case UNIX_DIAG_SHUTDOWN:
        socket->has_shutdown = count == 1;
        socket->shutdown = socket->has_shutdown ? bytes[0] : 0;
        break;
    default:
        break;
    }
}

static int take_socket(const unsigned char *bytes, size_t count, uint32_t queued, struct unix_diag *ret_socket)
{
    struct unix_diag socket = {0};
    struct unix_diag_msg fixed;
    size_t at = ALIGN(sizeof(fixed));

    if (count < sizeof(fixed))
        return -EINVAL;
    memcpy(&fixed, bytes, sizeof(fixed));
    if (fixed.udiag_family != AF_UNIX)
        return -EINVAL;
    socket.inode = fixed.udiag_ino;
    socket.type = fixed.udiag_type;
    socket.state = fixed.udiag_state;
    while (at < count) {
        struct nlattr attribute;

        if (count - at < sizeof(attribute))
            return -EINVAL;
        memcpy(&attribute, bytes + at, sizeof(attribute));
        if (attribute.nla_len < sizeof(attribute) || attribute.nla_len > count - at)
            return -EINVAL;
        take_attribute(attribute.nla_type, bytes + at + sizeof(attribute), attribute.nla_len - sizeof(attribute),
                       queued, &socket);
        at += ALIGN((size_t)attribute.nla_len);
    }
    *ret_socket = socket;
    return 0;
}

int unix_diag_parse(const void *bytes, size_t count, uint32_t queued, struct unix_diag_message *ret_message)
{
    struct unix_diag_message message = {.kind = UNIX_DIAG_OTHER};
    const unsigned char *body;
    struct nlmsghdr header;
    size_t length;
    int result = 0;

    if (count < sizeof(header))
        return -EINVAL;
    memcpy(&header, bytes, sizeof(header));
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > count)
        return -EINVAL;
    body = (const unsigned char *)bytes + sizeof(header);
    length = header.nlmsg_len - sizeof(header);
    message.sequence = header.nlmsg_seq;
    if (header.nlmsg_type == NLMSG_DONE) {
        message.kind = UNIX_DIAG_END;
    } else if (header.nlmsg_type == NLMSG_ERROR) {
        message.kind = UNIX_DIAG_ERROR;
        if (length < sizeof(message.error))
            return -EINVAL;
        memcpy(&message.error, body, sizeof(message.error));
    } else if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
        message.kind = UNIX_DIAG_SOCKET;
        result = take_socket(body, length, queued, &message.socket);
    }
    if (result != 0)
        return result;
    *ret_message = message;
    length = ALIGN((size_t)header.nlmsg_len);
    return (int)(length < count ? length : count);
}

/* Queries over a socket -------------------------------------------------------------------------------------------- */

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

/*
 * Receives a packet. Returns its length, 0 if the kernel did not send it, -EAGAIN if there is none, or another -errno.
 */
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

/* Drops what an earlier user of the socket left unread. */
static int drop_leftovers(int descriptor, void *buffer, size_t capacity)
{
    ssize_t bytes = 0;

    for (int i = 0; i < PACKETS_MAX && (bytes >= 0 || bytes == -EMSGSIZE || bytes == -ENOBUFS); i++)
        bytes = receive(descriptor, buffer, capacity);
    return bytes == -EAGAIN ? 0 : bytes < 0 ? (int)bytes : -EBUSY;
}

struct query {
    struct nlmsghdr header;
    struct unix_diag_req request;
};

/* Sends a query, after setting the sequence number in its header. Its answers have the same number. */
static int send_query(int descriptor, struct query *query)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct iovec part = {query, sizeof(*query)};
    struct msghdr message = {.msg_name = &kernel, .msg_namelen = sizeof(kernel), .msg_iov = &part, .msg_iovlen = 1};
    ssize_t bytes;

    query->header.nlmsg_len = sizeof(*query);
    query->header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    query->header.nlmsg_seq = (uint32_t)clock_mono_ns(); /* differs from that of the previous query */
    query->request.sdiag_family = AF_UNIX;
    query->request.udiag_cookie[0] = query->request.udiag_cookie[1] = UINT32_MAX; /* any */
    do
        bytes = sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (bytes < 0 && errno == EINTR);
    return bytes < 0 ? -errno : 0;
}

/*
 * Searches a packet for the socket of that inode, or in a list for the listening socket that has the inode in its
 * queue. Returns 0; -EAGAIN if it is not in this packet; -ENOENT if it is in none; or another -errno.
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

static int find(int descriptor, struct query *query, uint32_t inode, bool list, struct unix_diag *ret_socket)
{
    unsigned char buffer[UNIX_DIAG_BUFFER_BYTES];
    int result = drop_leftovers(descriptor, buffer, sizeof(buffer));

    if (result == 0)
        result = send_query(descriptor, query);
    if (result != 0)
        return result;
    result = -EAGAIN;
    for (int i = 0; i < PACKETS_MAX && result == -EAGAIN; i++) {
        ssize_t bytes = receive(descriptor, buffer, sizeof(buffer));

        if (bytes < 0)
            return (int)bytes;
        result = read_packet(buffer, (size_t)bytes, query->header.nlmsg_seq, inode, list, ret_socket);
    }
    return result;
}

int unix_diag_ask(int descriptor, uint32_t inode, struct unix_diag *ret_socket)
{
    struct query query = {
        .header = {.nlmsg_flags = NLM_F_REQUEST},
        .request = {.udiag_ino = inode, .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER},
    };

    return inode == 0 ? -ENOENT : find(descriptor, &query, inode, false, ret_socket);
}

int unix_diag_find_listener(int descriptor, uint32_t inode, struct unix_diag *ret_listener)
{
    struct query query = {
        .header = {.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
        .request = {.udiag_states = 1u << UNIX_DIAG_LISTENING, .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_ICONS},
    };

    return inode == 0 ? -ENOENT : find(descriptor, &query, inode, true, ret_listener);
}
