/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sockets.h - sockets by inode; tables are read as they are needed, once per network namespace and pass.
 *
 * Guarantees
 *   A. At most SOCKET_SPACES_MAX namespaces, SOCKETS_MAX sockets of each, and reading until a deadline: what is beyond
 *      is not found, and counted.
 */
#ifndef RIPD_PROBE_SOCKETS_H
#define RIPD_PROBE_SOCKETS_H

#include <stdint.h>

#include "os/proc_net.h"

#define SOCKET_SPACES_MAX 16u
#define SOCKETS_MAX 32768u

struct sockets;

struct sockets *sockets_new(void);          /* NULL: no memory */
void sockets_free(struct sockets *sockets); /* NULL is allowed */

/* Forgets everything: what is looked for from now on is read anew. */
void sockets_forget(struct sockets *sockets);

/*
 * 0; -ENOENT: there is none in the process's namespace, or its table was not read so far. The socket is valid until
 * the next call.
 */
int sockets_find(struct sockets *sockets, int proc, uint32_t pid, uint64_t inode, uint64_t deadline_mono_ns,
                 const struct proc_socket **ret_socket);

/* Tables that were not read to their end, since the beginning. */
uint64_t sockets_cut_count(const struct sockets *sockets);

#endif
