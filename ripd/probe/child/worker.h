/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - the privileged processes, which answer one query after another and keep no state in between. The worker
 * reads processes, the fetcher opens programs. They are two processes because a file may be on a file system that never
 * answers, and a process that waits for it cannot even be killed.
 *
 * Guarantees
 *   A. Only processes attested by attest.h, from before the reading until after it, are read, and only their files are
 *      opened; module_file.h lists which ones.
 *   B. A query that takes longer than PROBE_QUERY_NS ends the process, as soon as the kernel permits.
 */
#ifndef RIPD_PROBE_CHILD_WORKER_H
#define RIPD_PROBE_CHILD_WORKER_H

#include "probe/protocol.h"

/* Descriptors that a worker reads from. */
struct worker_sources {
    int proc;
    int diag; /* netlink socket for queries about unix sockets; -1 = none */
};

/* Answers one query. descriptor: its ring; -1 = none. Takes ownership of descriptor. */
void worker_answer(const struct worker_sources *sources, const struct probe_query *query, int descriptor,
                   struct probe_answer *ret_answer);

/* Answers one query for a file. Takes ownership of ring. Returns the descriptor to send with the answer, or -1. */
int worker_fetch(const struct worker_sources *sources, const struct probe_fetch *fetch, int ring,
                 struct probe_fetched *ret_fetched);

/* Answers queries on socket, as PROBE_WORKER or PROBE_FETCHER, until its other end is closed or sends nonsense. */
void worker_run(const struct worker_sources *sources, uint32_t kind, int socket);

#endif
