/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - the process that reads what only a few may read: one question after another, no memory of the last.
 *
 * Guarantees
 *   A. It tells of threads of processes that attest.h vouches for, from before the reading to after it, and of nothing
 *      else.
 *   B. A question that takes longer than PROBE_QUESTION_NS ends the process.
 */
#ifndef RIPD_PROBE_CHILD_WORKER_H
#define RIPD_PROBE_CHILD_WORKER_H

#include "probe/protocol.h"

/* Answers one question; descriptor is its ring, taken over, -1 = it brought none. */
void worker_answer(int proc, const struct probe_ask *ask, int descriptor, struct probe_told *ret_told);

/* Answers what comes over socket, until its other end is closed or talks nonsense. */
void worker_run(int proc, int socket);

#endif
