/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote.h - ripd's end of ripd-probe: questions about threads, and answers when they come.
 *
 * Guarantees
 *   A. Nothing waits but remote_next(), and that until its deadline. An answer that comes later is there the next time.
 *   B. At most REMOTE_QUERIES_MAX questions are under way; a worker that has not answered one in
 *      REMOTE_PATIENCE_NS, or talks nonsense, is replaced, and what it was asked is forgotten.
 *   C. When REMOTE_FAILURES_MAX workers in a row have ended without an answer, nobody waits for the next one.
 *   D. A process that workers have ended on twice, and all of a user on whose processes they have ended
 *      REMOTE_USER_ENDS_MAX times, are not asked about again for REMOTE_BLAME_NS: nobody keeps others from being
 *      examined for long.
 */
#ifndef RIPD_PROBE_REMOTE_H
#define RIPD_PROBE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "probe/kernel.h"

#define REMOTE_QUERIES_MAX 8u
#define REMOTE_PATIENCE_NS UINT64_C(4000000000) /* it ends by itself before */
#define REMOTE_FAILURES_MAX 3u
#define REMOTE_USER_ENDS_MAX 4u
#define REMOTE_BLAME_NS UINT64_C(60000000000)

struct remote;

/*
 * Starts the program, with the rights that the caller has. diag: to ask about unix sockets over (os/unix_diag.h), -1 =
 * none; it stays the caller's. 0 or -errno.
 */
int remote_new(struct remote **ret_remote, const char *program, int diag);
void remote_free(struct remote *remote); /* ends it; NULL is allowed */

/* A duplicate of the socket of ripd-probe, for fetch_new(). -errno; -ENOTCONN: it has ended. */
int remote_keeper(const struct remote *remote);

/* Notices what has become of workers, without waiting. */
void remote_look(struct remote *remote);

/* One suspect's thread. Comes back with the answer. */
struct remote_query {
    uint32_t ring; /* serial */
    uint32_t process;
    uint32_t uid; /* owner of the ring */
    uint32_t slot;
    uint32_t generation;
    uint32_t ring_tid; /* as the ring has it */
    uint32_t tid;      /* in our pid namespace */
    uint64_t progress;
    bool stopped; /* it is asked for of a stopped process: while it runs again it says nothing */
};

enum remote_asked {
    REMOTE_ASKED,   /* the answer comes, unless the worker ends */
    REMOTE_LATER,   /* too much is under way, or another worker is being started */
    REMOTE_REFUSED, /* there is no worker any more that answers, or they have ended on that process */
};

/* Whether as many questions are under way as there may be: remote_next() makes room. */
bool remote_is_full(const struct remote *remote);

/* Whether a query about that process can be asked now: the last question may be about it, and have room. */
bool remote_has_room(const struct remote *remote, uint32_t ring, uint32_t process);

/* descriptor: of the ring's file; used until remote_flush(). */
enum remote_asked remote_ask(struct remote *remote, int descriptor, const struct remote_query *query);

/* Sends what is wanted so far. */
void remote_flush(struct remote *remote);

/* Whether a question about that slot is under way. */
bool remote_is_asked(const struct remote *remote, uint32_t ring, uint32_t slot);

/* Whether any is. */
bool remote_is_busy(const struct remote *remote);

struct remote_answer {
    struct remote_query query;
    int status;    /* of the question, see struct probe_answer; then of the thread, see kernel_read() */
    bool attested; /* the process is vouched for: status is the thread's */
    uint32_t pid;
    struct kernel_reading reading; /* if status is 0 */
};

/* The next answer. False: none until deadline_mono_ns, or none is to come. */
bool remote_next(struct remote *remote, uint64_t deadline_mono_ns, struct remote_answer *ret_answer);

/* How workers have ended. */
enum remote_end { REMOTE_END_ENDED, REMOTE_END_HUNG, REMOTE_END_NONSENSE, REMOTE_END_COUNT };
const char *remote_end_name(enum remote_end end); /* static */

struct remote_counters {
    uint64_t start_count; /* of workers that we were told of */
    uint64_t end_counts[REMOTE_END_COUNT];
    bool gone; /* the program itself has ended: there will be no other worker */
};
void remote_count(const struct remote *remote, struct remote_counters *ret_counters);

#endif
