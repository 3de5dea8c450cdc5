/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - the processes that do what only a few may: one query after another, with no state kept in between. The
 * worker reads of processes, the fetcher opens programs. They are two because a file may lie on a file system that
 * never answers, and a process that waits for it then cannot even be killed.
 *
 * Guarantees
 *   A. What is read or opened is of processes that attest.h vouches for, from before the reading to after it, and of
 *      nothing else; which files, see module_file.h.
 *   B. A query that takes longer than PROBE_QUERY_NS ends the process, as soon as the kernel lets it go.
 */
#ifndef RIPD_PROBE_CHILD_WORKER_H
#define RIPD_PROBE_CHILD_WORKER_H

#include "probe/protocol.h"

/* Where a worker reads. */
struct worker_sources {
    int proc;
    int diag; /* to ask about unix sockets over; -1 = none */
};

/* Answers one query; descriptor is its ring, taken over, -1 = it brought none. */
void worker_answer(const struct worker_sources *sources, const struct probe_query *query, int descriptor,
                   struct probe_answer *ret_answer);

/* The same for a file. Returns the descriptor that goes with the answer, or -1. */
int worker_fetch(const struct worker_sources *sources, const struct probe_fetch *fetch, int ring,
                 struct probe_fetched *ret_fetched);

/* Answers what comes over socket, as PROBE_WORKER or PROBE_FETCHER, until its other end is closed or sends nonsense. */
void worker_run(const struct worker_sources *sources, uint32_t kind, int socket);

#endif
