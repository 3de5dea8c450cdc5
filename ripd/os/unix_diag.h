/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unix_diag.h - what the kernel says of one unix socket, and of its peer: sock_diag(7), over a netlink socket. Any user
 * may query the sockets of the network namespace that the netlink socket was made in.
 *
 * Guarantees
 *   A. Nothing waits: the kernel has answered when the query has been sent, and an answer that is not there then is
 *      not waited for.
 *   B. An answer is believed only if the kernel sent it, to this query; what others left is thrown away. So
 *      one netlink socket can be used by one process after another, but by one at a time.
 */
#ifndef RIPD_OS_UNIX_DIAG_H
#define RIPD_OS_UNIX_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNIX_DIAG_NAME_BYTES 112u    /* sun_path holds 108 */
#define UNIX_DIAG_BUFFER_BYTES 32768 /* of one packet: the kernel makes none that is longer */

#define UNIX_DIAG_LISTENING 10u /* a state, as the kernel numbers them */

#define UNIX_DIAG_SHUT_RECEIVE 1u /* of shutdown: nothing comes any more */

struct unix_diag {
    uint32_t inode;
    uint8_t type;                    /* SOCK_STREAM and so on */
    uint8_t state;                   /* 1 = established, also of a datagram socket that another one is connected to */
    bool has_peer;                   /* it is connected */
    uint32_t peer_inode;             /* 0: the peer has none, as nobody has accepted it yet, or has it open any more */
    bool has_shutdown;               /* shutdown is known */
    uint8_t shutdown;                /* bits */
    bool queues;                     /* the socket that was asked for is among those that wait to be accepted here */
    char name[UNIX_DIAG_NAME_BYTES]; /* terminated; "@..." in the abstract namespace, '@' for zero bytes; "" = none */
};

/* Of the caller's own network namespace. A descriptor, close-on-exec, or -errno. */
int unix_diag_open(void);

/* Whether a descriptor is a netlink socket to ask such things with. */
bool unix_diag_is(int descriptor);

/* One socket. 0; -ENOENT: there is none of that inode in that namespace; another -errno. */
int unix_diag_ask(int descriptor, uint32_t inode, struct unix_diag *ret_socket);

/* The socket that listens, and has the one of that inode wait to be accepted. -ENOENT: none that was found. */
int unix_diag_find_listener(int descriptor, uint32_t inode, struct unix_diag *ret_listener);

/*
 * A name as the kernel has it, in bytes, as /proc/net/unix shows it: a path ends with its first zero byte, of another
 * name each is shown as '@', its first and all. What does not fit is cut. Pure, fuzzed.
 */
void unix_diag_name(const unsigned char *bytes, size_t count, char ret_name[UNIX_DIAG_NAME_BYTES]);

/* What a packet of the kernel's consists of. */
enum unix_diag_kind {
    UNIX_DIAG_SOCKET,
    UNIX_DIAG_ERROR, /* error: a negative errno, or 0 */
    UNIX_DIAG_END,   /* of a list */
    UNIX_DIAG_OTHER,
};
struct unix_diag_message {
    enum unix_diag_kind kind;
    uint32_t sequence;
    int32_t error;
    struct unix_diag socket;
};

/*
 * The first message of those in bytes; queued: an inode to be looked for among those that wait to be accepted.
 * Returns how many bytes it takes, count at most, or -EINVAL: not a message. Pure, fuzzed.
 */
int unix_diag_parse(const void *bytes, size_t count, uint32_t queued, struct unix_diag_message *ret_message);

#endif
