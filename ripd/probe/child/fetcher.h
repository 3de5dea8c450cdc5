/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetcher.h - the process that opens programs which ripd itself cannot: one question after another, no memory of the
 * last. It is not the worker: a file may lie on a file system that never answers, and whoever waits for it then cannot
 * even be killed.
 *
 * Guarantees
 *   A. It opens files of processes that attest.h vouches for, from before the opening to after it, and of nothing else;
 *      which files, see module_file.h.
 *   B. A question that takes longer than PROBE_QUERY_NS ends the process, as soon as the kernel lets it go.
 */
#ifndef RIPD_PROBE_CHILD_FETCHER_H
#define RIPD_PROBE_CHILD_FETCHER_H

#include "probe/protocol.h"

/*
 * Answers one question; ring is its descriptor, taken over, -1 = it brought none. Returns the descriptor that goes with
 * the answer, or -1.
 */
int fetcher_answer(int proc, const struct probe_fetch *fetch, int ring, struct probe_fetched *ret_fetched);

/* Answers what comes over socket, until its other end is closed or talks nonsense. */
void fetcher_run(int proc, int socket);

#endif
