/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_net.h - sockets of a network namespace, from PID/net/{tcp,tcp6,udp,udp6,unix}: those of the process's own
 * namespace. Any user may read them.
 */
#ifndef RIPD_OS_PROC_NET_H
#define RIPD_OS_PROC_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_SOCKET_PATH_BYTES 112u /* sun_path holds 108 */

/* kind, file below PID/net, word for it */
enum proc_socket_kind {
    PROC_SOCKET_TCP,
    PROC_SOCKET_TCP6,
    PROC_SOCKET_UDP,
    PROC_SOCKET_UDP6,
    PROC_SOCKET_UNIX,
    PROC_SOCKET_KIND_COUNT,
};
const char *proc_socket_kind_name(enum proc_socket_kind kind);

struct proc_address {
    uint8_t bytes[16]; /* in network order; the first 4 of tcp and udp */
    uint16_t port;
};

struct proc_socket {
    uint64_t inode;
    enum proc_socket_kind kind;
    uint32_t uid;  /* who made it; 0 for unix, where the kernel does not say */
    uint8_t state; /* as the kernel numbers them; of tcp 1 = established, of unix 1 = unconnected */
    uint8_t type;  /* of unix: SOCK_STREAM and so on */
    bool listens;  /* of unix */
    struct proc_address local;
    struct proc_address remote;
    char path[PROC_SOCKET_PATH_BYTES]; /* of a unix socket, "@..." in the abstract namespace; "" = it has no name */
};

/* The sockets of one kind, bit by bit. It holds a descriptor, and with it the network namespace in being. */
struct proc_socket_table;
int proc_socket_table_open(int proc, uint32_t pid, enum proc_socket_kind kind, struct proc_socket_table **ret_table);
void proc_socket_table_close(struct proc_socket_table *table); /* NULL is allowed */

/*
 * Continues behind the socket that was visited last, while visit returns 0; returns what visit returned last, 0 at the
 * end, or -errno. A line of another form is skipped. Of sockets that come and go in between, one that is there all the
 * time may be visited twice or not at all, but few are: the kernel knows its place by the list it is in.
 */
int proc_socket_table_visit(struct proc_socket_table *table,
                            int (*visit)(void *context, const struct proc_socket *socket), void *context);

/* A number that is the same for processes of one network namespace. -EACCES: we may not read it. */
int proc_network_namespace(int proc, uint32_t pid, uint64_t *ret_inode);

/* One line of such a file, terminated. -EINVAL: not a socket's. Pure, fuzzed. */
int proc_parse_socket(const char *line, enum proc_socket_kind kind, struct proc_socket *ret_socket);

/* "SYN_SENT" and so on; NULL for ESTABLISHED and for what is no state of tcp. */
const char *proc_tcp_state_name(uint8_t state);

/* "LISTEN", "UNCONNECTED"; NULL: it is connected, or it may be. */
const char *proc_unix_state_name(const struct proc_socket *socket);

/* "127.0.0.1:80", "[::1]:80". Returns ret_text. */
#define PROC_ADDRESS_TEXT_BYTES 56u
char *proc_address_format(enum proc_socket_kind kind, const struct proc_address *address,
                          char ret_text[PROC_ADDRESS_TEXT_BYTES]);

#endif
