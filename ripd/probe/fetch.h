/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h - ripd's end of the fetcher, the process that opens programs which ripd itself cannot open
 * (probe/child/worker.h). One thread uses it; each query blocks, and there is one query at a time.
 *
 * Guarantees
 *   A. No call takes longer than FETCH_LIMIT_NS, or than its caller allows.
 *   B. A fetcher that ends, hangs or answers nonsense is replaced, and its user is blamed (os/child.h), because the
 *      file of the query caused it.
 *   C. A returned descriptor is a regular file, opened read-only.
 *   D. fetch_count() may be called by any thread.
 */
#ifndef RIPD_PROBE_FETCH_H
#define RIPD_PROBE_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#define FETCH_LIMIT_NS UINT64_C(4000000000) /* the fetcher's own limit is PROBE_QUERY_NS */
#define FETCH_RESTART_NS UINT64_C(1000000000)
#define FETCH_PAUSE_NS UINT64_C(60000000000)

struct fetch;

/*
 * keeper: the socket of ripd-probe, which is only sent to. Takes ownership of keeper, also on failure. Returns 0 or
 * -errno.
 */
int fetch_new(struct fetch **ret_fetch, int keeper);
void fetch_free(struct fetch *fetch); /* NULL is allowed */

struct fetch_query {
    uint32_t uid;     /* user that the ring is charged to */
    uint32_t process; /* index of the process's record in the ring */
    uint64_t start;   /* start address of the module's mapping */
    bool exact;       /* return only a file that is certainly the mapped one */
};

/*
 * Opens the file of a module. ring: a descriptor of the ring's file. Returns a descriptor, or
 *   -EAGAIN     not now, and nothing is known about the file: a limit, a pause, or a fetcher ended on it
 *   -ECANCELED  cancel has become readable
 *   -ENOTCONN   ripd-probe has ended
 *   -errno      of module_file_open() or attest_open(): the file cannot be opened
 */
int fetch_file(struct fetch *fetch, int ring, const struct fetch_query *query, int cancel);

struct fetch_counters {
    uint64_t opened_count;  /* files */
    uint64_t refused_count; /* files that a fetcher did not open */
    uint64_t missed_count;  /* files for which no fetcher was queried, or on which one ended */
    uint64_t start_count;   /* fetchers */
    uint64_t died_count;
    uint64_t hung_count;
};
void fetch_count(const struct fetch *fetch, struct fetch_counters *ret_counters);

#endif
