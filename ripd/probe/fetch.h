/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h - ripd's end of the process that opens programs which ripd itself cannot (probe/child/fetcher.h): one
 * question at a time, for one thread, which waits.
 *
 * Guarantees
 *   A. No call takes longer than FETCH_PATIENCE_NS, or than its caller wants to wait.
 *   B. A fetcher is started when there is something to ask. One that has ended, does not answer, or talks nonsense is
 *      replaced, at most once in FETCH_RESTART_NS.
 *   C. A user on whose process one has ended is not asked about again for FETCH_BLAME_NS. One that the kernel does not
 *      let go, because it waits for a file, is waited for as well: a user holds up one of them, and when
 *      FETCH_LEAVING_MAX of them are held up, no other is started.
 *   D. What is returned is a regular file, open for reading alone.
 *   E. fetch_count() may be called by any thread.
 */
#ifndef RIPD_PROBE_FETCH_H
#define RIPD_PROBE_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#define FETCH_PATIENCE_NS UINT64_C(4000000000) /* it ends by itself before */
#define FETCH_RESTART_NS UINT64_C(1000000000)
#define FETCH_BLAME_NS UINT64_C(60000000000)
#define FETCH_BLAMED_MAX 16u
#define FETCH_LEAVING_MAX 4u

struct fetch;

/* keeper: the socket of ripd-probe, taken over, also on failure; it is only sent to. 0 or -errno. */
int fetch_new(struct fetch **ret_fetch, int keeper);
void fetch_free(struct fetch *fetch); /* NULL is allowed */

struct fetch_query {
    uint32_t uid;     /* owner of the ring */
    uint32_t process; /* index of its record */
    uint64_t start;   /* where the module is mapped */
    bool exact;       /* only the very file that is mapped */
};

/*
 * The file of a module; ring: a descriptor of the ring's file. A descriptor, or -errno: -EAGAIN: not now; -ECANCELED:
 * cancel has become readable; else it is not to be had: as module_file_open() and attest_open() say, -EBUSY: the user
 * is not asked about now, -ETIMEDOUT, -EPIPE: a fetcher has ended on it, -ENOTCONN: there is no ripd-probe any more.
 */
int fetch_file(struct fetch *fetch, int ring, const struct fetch_query *wish, int cancel);

struct fetch_counters {
    uint64_t opened_count;  /* files */
    uint64_t refused_count; /* files that a fetcher did not open */
    uint64_t missed_count;  /* that none was asked for, or that it ended on */
    uint64_t start_count;   /* fetchers */
    uint64_t died_count;
    uint64_t hung_count;
};
void fetch_count(struct fetch *fetch, struct fetch_counters *ret_counters);

#endif
