/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unix_diag.h - queries the kernel about a unix socket and its peer, by sock_diag(7) over a netlink socket. Any user
 * may query the sockets of the network namespace in which the netlink socket was created.
 *
 * Guarantees
 *   A. Nothing blocks: the kernel has answered when the query has been sent. An answer that is missing then is not
 *      waited for.
 *   B. An answer is believed only if the kernel sent it for this query. Leftover answers are dropped. So several
 *      processes can share one netlink socket, but only one may use it at a time.
 */
#ifndef RIPD_OS_UNIX_DIAG_H
#define RIPD_OS_UNIX_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNIX_DIAG_NAME_BYTES 112u    /* sun_path holds 108 */
#define UNIX_DIAG_BUFFER_BYTES 32768 /* the kernel sends no longer packet */

#define UNIX_DIAG_LISTENING 10u /* a state, in the kernel's numbers */

#define UNIX_DIAG_SHUT_RECEIVE 1u /* bit of shutdown: nothing can be received any more */

struct unix_diag {
    uint32_t inode;
    uint8_t type;                    /* SOCK_STREAM and so on */
    uint8_t state;                   /* 1 = established, also a datagram socket that is another one's peer */
    bool has_peer;                   /* the socket is connected */
    uint32_t peer_inode;             /* 0 = the peer has no inode: it is not accepted yet, or closed */
    bool has_shutdown;               /* shutdown is known */
    uint8_t shutdown;                /* bits */
    bool queues;                     /* the queried socket waits here to be accepted */
    char name[UNIX_DIAG_NAME_BYTES]; /* terminated; "@..." in the abstract namespace, '@' for zero bytes; "" = none */
};

/* Opens a netlink socket in the caller's network namespace. Returns a close-on-exec descriptor or -errno. */
int unix_diag_open(void);

/* Whether a descriptor is a netlink socket for such queries. */
bool unix_diag_is(int descriptor);

/* Queries one socket. Returns 0; -ENOENT if the namespace has no socket of that inode; or another -errno. */
int unix_diag_ask(int descriptor, uint32_t inode, struct unix_diag *ret_socket);

/*
 * Finds the listening socket at which the socket of that inode waits to be accepted. Returns -ENOENT if there is none.
 */
int unix_diag_find_listener(int descriptor, uint32_t inode, struct unix_diag *ret_listener);

/*
 * Converts a name from the kernel to the form of /proc/net/unix. A path ends at its first zero byte. In an abstract
 * name every zero byte becomes '@', including the first. A name that does not fit is cut. Pure, fuzzed.
 */
void unix_diag_name(const unsigned char *bytes, size_t count, char ret_name[UNIX_DIAG_NAME_BYTES]);

/* Kinds of messages in a packet from the kernel. */
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
 * Parses the first message in bytes. queued: the inode to look for in the queue of a listening socket; 0 = none.
 * Returns the size of the message, at most count, or -EINVAL if it is malformed. Pure, fuzzed.
 */
int unix_diag_parse(const void *bytes, size_t count, uint32_t queued, struct unix_diag_message *ret_message);

#endif
