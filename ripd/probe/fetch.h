/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h - ripd's end of the process that opens programs which ripd itself cannot (probe/child/worker.h): one query
 * at a time, for one thread, which waits.
 *
 * Guarantees
 *   A. No call takes longer than FETCH_LIMIT_NS, or than its caller allows.
 *   B. A fetcher that ends, hangs or answers nonsense is replaced and its user blamed (os/child.h): it is the query's
 *      file that did it.
 *   C. What is returned is a regular file, open for reading alone.
 *   D. fetch_count() may be called by any thread.
 */
#ifndef RIPD_PROBE_FETCH_H
#define RIPD_PROBE_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#define FETCH_LIMIT_NS UINT64_C(4000000000) /* it ends by itself before */
#define FETCH_RESTART_NS UINT64_C(1000000000)
#define FETCH_PAUSE_NS UINT64_C(60000000000)

struct fetch;

/* keeper: the socket of ripd-probe, taken over, also on failure; it is only sent to. 0 or -errno. */
int fetch_new(struct fetch **ret_fetch, int keeper);
void fetch_free(struct fetch *fetch); /* NULL is allowed */

struct fetch_query {
    uint32_t uid;     /* user that the ring counts as */
    uint32_t process; /* index of its record */
    uint64_t start;   /* where the module is mapped */
    bool exact;       /* only the very file that is mapped */
};

/*
 * The file of a module; ring: a descriptor of the ring's file. A descriptor, or -errno. -EAGAIN: not now, and nothing
 * is known of the file: a limit, a pause, or a fetcher ended on it; -ECANCELED: cancel has become readable; -ENOTCONN:
 * ripd-probe has ended; else it is not to be had, as module_file_open() and attest_open() say.
 */
int fetch_file(struct fetch *fetch, int ring, const struct fetch_query *query, int cancel);

struct fetch_counters {
    uint64_t opened_count;  /* files */
    uint64_t refused_count; /* files that a fetcher did not open */
    uint64_t missed_count;  /* files that none was asked for, or that it ended on */
    uint64_t start_count;   /* fetchers */
    uint64_t died_count;
    uint64_t hung_count;
};
void fetch_count(const struct fetch *fetch, struct fetch_counters *ret_counters);

#endif
