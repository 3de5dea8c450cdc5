/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sockets.h - looks up sockets by inode. Tables are read when needed, once per network namespace and pass. A table that
 * is too long for one pass is read in several.
 *
 * Guarantees
 *   A. At most SOCKET_SPACES_MAX namespaces, and SOCKETS_MAX sockets of each, are kept. Sockets beyond are not found,
 *      and counted. One user gets at most as many as then remain free, so the sockets of other users are found.
 *   B. Reading stops at a deadline, once per pass and namespace, and is counted. The next pass with a lookup continues
 *      there. Each pass makes progress, so every lookup is answered eventually.
 *   C. The sockets of a namespace are dropped at the end of the pass in which the last table was read, or after
 *      SOCKETS_PATIENCE passes without a lookup.
 */
#ifndef RIPD_PROBE_SOCKETS_H
#define RIPD_PROBE_SOCKETS_H

#include <stdint.h>

#include "os/proc_net.h"

#define SOCKET_SPACES_MAX 16u
#define SOCKETS_MAX 65536u
#define SOCKETS_PATIENCE 8u

struct sockets;

struct sockets *sockets_new(void);          /* returns NULL if out of memory */
void sockets_free(struct sockets *sockets); /* NULL is allowed */

/* Ends a pass. Later lookups read all tables again, except those that were not read to their end. */
void sockets_end_pass(struct sockets *sockets);

/*
 * Returns 0; -ENOENT if the process's namespace has no such socket or this cannot be known; -EAGAIN if not all tables
 * were read: retry in the next pass. The socket is borrowed and valid until the next call.
 */
int sockets_find(struct sockets *sockets, int proc, uint32_t pid, uint64_t inode, uint64_t deadline_mono_ns,
                 const struct proc_socket **ret_socket);

/* Returns how often tables were not read to their end. Monotonic. */
uint64_t sockets_cut_count(const struct sockets *sockets);

#endif
