/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unix_diag_parse.c - netlink messages about unix sockets: bytes in, values out. Pure.
 *
 * Guarantees
 *   1. Nothing beyond the bytes that were given is read, wherever they lie; the output is left alone on failure.
 *   2. The name has no zero byte before its end. It is somebody else's, and may hold any other.
 */
#include "os/unix_diag.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <string.h>
#include <sys/socket.h>

#define ALIGN(count) (((count) + 3) & ~(size_t)3) /* NLMSG_ALIGN and NLA_ALIGN, without their signs */

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
