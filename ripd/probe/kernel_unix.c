/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_unix.c - finds the peer of a unix socket. Touches a netlink socket of os/unix_diag.h, which does not block.
 *
 * Guarantees
 *   1. Nothing is guessed. Sockets are identified by inode, which is unique on the host, in all network namespaces
 *      (until 2^32 more sockets are created during one socket's life). Both ends of a pair are queried for their peer,
 *      and both answers must agree.
 *   2. Names and peers are the kernel's own answers. Lines of /proc/net/unix are not used here, because a name may
 *      contain line feeds and so imitate other sockets.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "os/clock.h"
#include "probe/kernel.h"

/* Whether connected sockets are each other's peer, which datagram sockets need not be. */
static bool is_pair(const struct unix_diag *socket)
{
    return socket->type == SOCK_STREAM || socket->type == SOCK_SEQPACKET;
}

static void read_peer(int diag, const struct unix_diag *socket, struct kernel_unix *known)
{
    struct unix_diag peer;
    int result = unix_diag_ask(diag, socket->peer_inode, &peer);

    if (result != 0 && result != -ENOENT)
        return;
    if (result == 0 && is_pair(socket) && (!peer.has_peer || peer.peer_inode != socket->inode))
        return; /* disconnected meanwhile */
    known->peer = KERNEL_PEER_SOCKET;
    known->peer_inode = socket->peer_inode;
    if (result == 0) /* otherwise the peer is in another network namespace */
        memcpy(known->peer_name, peer.name, sizeof(known->peer_name));
}

/* The peer has no inode, so nobody has it open: it is closed, or not accepted yet. */
static void read_missing_peer(int diag, const struct unix_diag *socket, struct kernel_unix *known)
{
    struct unix_diag listener;

    if (!is_pair(socket)) {
        known->peer = KERNEL_PEER_CLOSED;
        return;
    }
    if (!socket->has_shutdown || (socket->shutdown & UNIX_DIAG_SHUT_RECEIVE) != 0)
        return; /* the peer was closed, which has ended the wait */
    known->peer = KERNEL_PEER_QUEUED;
    if (unix_diag_find_listener(diag, socket->inode, &listener) != 0)
        return;
    known->peer_inode = listener.inode;
    memcpy(known->peer_name, listener.name, sizeof(known->peer_name));
}

/* Whether the call passed an address for a datagram, which takes precedence over the connected peer. */
static bool sends_elsewhere(const struct kernel_reading *reading, const struct unix_diag *socket)
{
    return (reading->has & KERNEL_HAS_NAMES) != 0 && socket->type == SOCK_DGRAM;
}

void kernel_read_unix(int diag, uint64_t deadline_mono_ns, struct kernel_reading *reading)
{
    struct kernel_unix known = {.peer = KERNEL_PEER_UNKNOWN};
    struct unix_diag socket;
    uint64_t inode;

    if (diag < 0 || (reading->has & KERNEL_HAS_DESCRIPTOR) == 0 ||
        !proc_link_inode(reading->descriptor.link, "socket", &inode) || inode > UINT32_MAX)
        return;
    if (clock_mono_ns() >= deadline_mono_ns) {
        reading->has |= KERNEL_HAS_NO_TIME;
        return;
    }
    if (unix_diag_ask(diag, (uint32_t)inode, &socket) != 0)
        return;
    known.listening = socket.state == UNIX_DIAG_LISTENING;
    memcpy(known.name, socket.name, sizeof(known.name));
    if (!socket.has_peer)
        known.peer = KERNEL_PEER_NONE;
    else if (sends_elsewhere(reading, &socket))
        known.peer = KERNEL_PEER_UNKNOWN;
    else if (socket.peer_inode != 0)
        read_peer(diag, &socket, &known);
    else
        read_missing_peer(diag, &socket, &known);
    reading->unix_socket = known;
    reading->has |= KERNEL_HAS_UNIX;
}
