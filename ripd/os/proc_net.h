/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_net.h - the sockets of a process's network namespace, from PID/net/{tcp,tcp6,udp,udp6,unix}. Any user may read
 * them.
 */
#ifndef RIPD_OS_PROC_NET_H
#define RIPD_OS_PROC_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_SOCKET_PATH_BYTES 112u /* sun_path holds 108 */

/* Each kind is a file below PID/net. */
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
    uint8_t bytes[16]; /* in network order; tcp and udp use the first 4 */
    uint16_t port;
};

struct proc_socket {
    uint64_t inode;
    enum proc_socket_kind kind;
    uint32_t uid;  /* of its creator; 0 for unix, where the kernel does not show it */
    uint8_t state; /* in the kernel's numbers: 1 = established for tcp, unconnected for unix */
    uint8_t type;  /* unix only: SOCK_STREAM and so on */
    bool listens;  /* unix only */
    struct proc_address local;
    struct proc_address remote;
    char path[PROC_SOCKET_PATH_BYTES]; /* unix only: "@..." in the abstract namespace; "" = no name */
};

/* The sockets of one kind, read in parts. An open table keeps the network namespace alive. */
struct proc_socket_table;
int proc_socket_table_open(int proc, uint32_t pid, enum proc_socket_kind kind, struct proc_socket_table **ret_table);
void proc_socket_table_close(struct proc_socket_table *table); /* NULL is allowed */

/*
 * Visits sockets after the last visited one, while visit returns 0. Returns what visit returned last, 0 at the end, or
 * -errno. Skips malformed lines. If sockets are created or closed between two calls, a few others may be visited twice
 * or not at all: the kernel continues at a list of its table, not at a socket.
 */
int proc_socket_table_visit(struct proc_socket_table *table,
                            int (*visit)(void *context, const struct proc_socket *socket), void *context);

/* Reads the inode of the process's network namespace, which identifies it. Returns -EACCES if it may not be read. */
int proc_network_namespace(int proc, uint32_t pid, uint64_t *ret_inode);

/* Parses one terminated line of such a file. Returns -EINVAL if it is not a socket. Pure, fuzzed. */
int proc_parse_socket(const char *line, enum proc_socket_kind kind, struct proc_socket *ret_socket);

/* "SYN_SENT" and so on; NULL for ESTABLISHED and for unknown states. */
const char *proc_tcp_state_name(uint8_t state);

/* "LISTEN" or "UNCONNECTED"; NULL if the socket is or may be connected. */
const char *proc_unix_state_name(const struct proc_socket *socket);

/* "127.0.0.1:80", "[::1]:80". Returns ret_text. */
#define PROC_ADDRESS_TEXT_BYTES 56u
char *proc_address_format(enum proc_socket_kind kind, const struct proc_address *address,
                          char ret_text[PROC_ADDRESS_TEXT_BYTES]);

#endif
