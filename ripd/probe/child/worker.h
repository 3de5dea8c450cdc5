/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - the process that reads what only a few may read: one question after another, no memory of the last.
 *
 * Guarantees
 *   A. It tells of threads of processes that attest.h vouches for, from before the reading to after it, and of nothing
 *      else.
 *   B. A question that takes longer than PROBE_QUERY_NS ends the process.
 */
#ifndef RIPD_PROBE_CHILD_WORKER_H
#define RIPD_PROBE_CHILD_WORKER_H

#include "probe/protocol.h"

/* Where a worker reads. */
struct worker_sources {
    int proc;
    int diag; /* to ask about unix sockets over; -1 = none */
};

/* Answers one question; descriptor is its ring, taken over, -1 = it brought none. */
void worker_answer(const struct worker_sources *sources, const struct probe_query *ask, int descriptor,
                   struct probe_answer *ret_told);

/* Answers what comes over socket, until its other end is closed or talks nonsense. */
void worker_run(const struct worker_sources *sources, int socket);

#endif
