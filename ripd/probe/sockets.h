/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sockets.h - sockets by inode; tables are read as they are needed, once per network namespace and pass, those too long
 * for one pass in as many as it takes.
 *
 * Guarantees
 *   A. At most SOCKET_SPACES_MAX namespaces, SOCKETS_MAX sockets of each: what is beyond is not found, and counted. Of
 *      one user at most as many as then stay free: however many he has, those of others are found.
 *   B. Reading ends at a deadline, once in a pass for each namespace, and is counted. The next pass with a lookup
 *      continues from there: each gets further, so every lookup is answered in the end.
 *   C. What is known of a namespace goes at the end of the pass in which all was read, or after SOCKETS_PATIENCE passes
 *      in which nobody asked.
 */
#ifndef RIPD_PROBE_SOCKETS_H
#define RIPD_PROBE_SOCKETS_H

#include <stdint.h>

#include "os/proc_net.h"

#define SOCKET_SPACES_MAX 16u
#define SOCKETS_MAX 65536u
#define SOCKETS_PATIENCE 8u

struct sockets;

struct sockets *sockets_new(void);          /* NULL: no memory */
void sockets_free(struct sockets *sockets); /* NULL is allowed */

/* Lookups read tables anew from now on, except those that were not read to their end. */
void sockets_end_pass(struct sockets *sockets);

/*
 * 0; -ENOENT: there is none in the process's namespace, or it cannot be known; -EAGAIN: not all was read, ask in the
 * next pass. The socket is valid until the next call.
 */
int sockets_find(struct sockets *sockets, int proc, uint32_t pid, uint64_t inode, uint64_t deadline_mono_ns,
                 const struct proc_socket **ret_socket);

/* How often tables were not read to their end, since the beginning. */
uint64_t sockets_cut_count(const struct sockets *sockets);

#endif
