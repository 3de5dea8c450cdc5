/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_unix_diag.c - netlink messages about unix sockets: accepted ones are in bounds, and their names are terminated.
 */
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fuzz.h"
#include "os/unix_diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    unsigned char *copy = malloc(size_bytes + 1); /* exact size, to detect reads past the end */

    if (copy == NULL)
        return 0;
    if (size_bytes != 0)
        memcpy(copy + 1, bytes, size_bytes);
    for (size_t at = 0; at < size_bytes;) {
        struct unix_diag_message message;
        int length = unix_diag_parse(copy + 1 + at, size_bytes - at, 7, &message);

        if (length < 0)
            break;
        require(length > 0 && (size_t)length <= size_bytes - at);
        require(message.kind <= UNIX_DIAG_OTHER);
        require(memchr(message.socket.name, 0, sizeof(message.socket.name)) != NULL);
        require(message.socket.has_peer || message.socket.peer_inode == 0);
        at += (size_t)length;
    }
    free(copy);
    return 0;
}

static size_t add_attribute(uint8_t *ret_bytes, uint16_t type, const void *bytes, uint16_t count)
{
    const struct nlattr attribute = {(uint16_t)(sizeof(attribute) + count), type};

    memcpy(ret_bytes, &attribute, sizeof(attribute));
    memcpy(ret_bytes + sizeof(attribute), bytes, count);
    return (sizeof(attribute) + count + 3u) & ~(size_t)3;
}

static size_t write_socket(uint8_t *ret_bytes, const char *name, uint16_t name_bytes)
{
    struct nlmsghdr header = {.nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_MULTI};
    const struct unix_diag_msg fixed = {.udiag_family = AF_UNIX, .udiag_type = SOCK_STREAM, .udiag_ino = 4711};
    const uint32_t words[] = {5, 7};
    const uint8_t shutdown = 1;
    size_t count = sizeof(header) + sizeof(fixed);

    memcpy(ret_bytes + sizeof(header), &fixed, sizeof(fixed));
    count += add_attribute(ret_bytes + count, UNIX_DIAG_NAME, name, name_bytes);
    count += add_attribute(ret_bytes + count, UNIX_DIAG_PEER, words, sizeof(words[0]));
    count += add_attribute(ret_bytes + count, UNIX_DIAG_ICONS, words, sizeof(words));
    count += add_attribute(ret_bytes + count, UNIX_DIAG_SHUTDOWN, &shutdown, sizeof(shutdown));
    header.nlmsg_len = (uint32_t)count;
    memcpy(ret_bytes, &header, sizeof(header));
    return count;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    struct {
        struct nlmsghdr header;
        int32_t error;
    } other = {.header = {.nlmsg_len = sizeof(other), .nlmsg_type = NLMSG_ERROR}, .error = -2};
    size_t count = 0;

    if (number >= 3 || capacity_bytes < 1024)
        return 0;
    memset(ret_bytes, 0, 1024);
    if (number != 1)
        count += write_socket(ret_bytes, "/run/db.sock", 13);
    if (number == 2) {
        count += write_socket(ret_bytes + count, "\0abstract\0name", 14);
        other.header.nlmsg_type = NLMSG_DONE;
    }
    if (number != 0) {
        memcpy(ret_bytes + count, &other, sizeof(other));
        count += sizeof(other);
    }
    return count;
}
