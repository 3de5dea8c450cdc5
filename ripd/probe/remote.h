/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote.h - ripd's end of ripd-probe: queries about threads, and answers when they come.
 *
 * Guarantees
 *   A. Only remote_next() blocks, until its deadline. An answer that arrives later is returned by a later call.
 *   B. At most REMOTE_QUERIES_MAX queries are pending. A worker that does not answer one within REMOTE_LIMIT_NS, or
 *      answers nonsense, is replaced, and its pending queries are dropped.
 *   C. After REMOTE_FAILURES_MAX workers in a row have ended without an answer, callers do not wait for the next one.
 *   D. A process on which workers ended twice is not queried for REMOTE_PAUSE_NS, longer each time (os/child.h). The
 *      same holds for all processes of a user on which REMOTE_USER_ENDS_MAX workers ended. So no user can keep others
 *      from being examined for long.
 */
#ifndef RIPD_PROBE_REMOTE_H
#define RIPD_PROBE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/child.h"
#include "os/proc_maps.h"
#include "probe/kernel.h"

#define REMOTE_QUERIES_MAX 8u
#define REMOTE_LIMIT_NS UINT64_C(4000000000) /* the worker's own limit is PROBE_QUERY_NS */
#define REMOTE_FAILURES_MAX 3u
#define REMOTE_USER_ENDS_MAX 4u
#define REMOTE_RESTART_NS UINT64_C(1000000000)
#define REMOTE_PAUSE_NS UINT64_C(60000000000)

struct remote;

/*
 * Starts the program with the caller's rights. diag: a netlink socket for queries about unix sockets (os/unix_diag.h),
 * borrowed; -1 = none. Returns 0 or -errno.
 */
int remote_new(struct remote **ret_remote, const char *program, int diag);
void remote_free(struct remote *remote); /* ends ripd-probe; NULL is allowed */

/* Returns a duplicate of the socket of ripd-probe, for fetch_new(), or -errno; -ENOTCONN: ripd-probe has ended. */
int remote_keeper(const struct remote *remote);

/* Notices a worker that ended, and starts another one, without waiting. */
void remote_look(struct remote *remote);

/* A query about one suspect's thread. It is returned with the answer. */
struct remote_query {
    uint32_t ring; /* serial */
    uint32_t process;
    uint32_t uid; /* user that the ring is charged to */
    uint32_t slot;
    uint32_t generation;
    uint32_t ring_tid; /* tid as the ring has it */
    uint32_t tid;      /* tid in ripd's pid namespace */
    uint64_t progress;
    uint64_t address; /* where the id stands, if its module is to be found; 0 = not needed */
    bool stopped;     /* the process is stopped: the answer is void once it runs again */
};

enum remote_asked {
    REMOTE_ASKED,   /* the answer will arrive, unless the worker ends */
    REMOTE_LATER,   /* too many queries are pending, or another worker is being started */
    REMOTE_REFUSED, /* workers do not answer any more, or the process or its user is blamed */
};

/* Whether the maximum of queries is pending. remote_next() makes room. */
bool remote_is_full(const struct remote *remote);

/* Whether a query about that process is possible now, by itself or as part of the last one. */
bool remote_has_room(struct remote *remote, uint32_t ring, uint32_t process);

/* descriptor: the ring's file; borrowed until remote_flush(). */
enum remote_asked remote_ask(struct remote *remote, int descriptor, const struct remote_query *query);

/* Sends the queries made so far. */
void remote_flush(struct remote *remote);

/* Whether a query about that slot is pending. */
bool remote_is_asked(struct remote *remote, uint32_t ring, uint32_t slot);

/* Whether any answer is to come or to be returned. */
bool remote_is_busy(const struct remote *remote);

struct remote_answer {
    struct remote_query query;
    bool attested; /* the worker has attested the process */
    int status;    /* if attested: of the thread, see kernel_read(); else of the query, see struct probe_answer */
    uint32_t pid;
    struct kernel_reading reading; /* if status is 0 */
    bool has_module;               /* module is valid; set in only one of the answers to a query */
    struct proc_object module;     /* mapped at query.address; path NULL = none; path valid until the next answer */
};

/* Takes the next answer. Returns false if none arrives until deadline_mono_ns, or no query is pending. */
bool remote_next(struct remote *remote, uint64_t deadline_mono_ns, struct remote_answer *ret_answer);

struct remote_counters {
    struct child_counters workers;
    bool gone; /* ripd-probe itself has ended: there will be no more workers */
};
void remote_count(const struct remote *remote, struct remote_counters *ret_counters);

#endif
