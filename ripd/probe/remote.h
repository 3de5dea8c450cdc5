/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote.h - ripd's end of ripd-probe: queries about threads, and answers when they come.
 *
 * Guarantees
 *   A. Nothing waits but remote_next(), and that until its deadline. An answer that comes later is there the next time.
 *   B. At most REMOTE_QUERIES_MAX queries are under way. A worker that has not answered one in REMOTE_LIMIT_NS, or
 *      answers nonsense, is replaced, and what it was asked is forgotten.
 *   C. When REMOTE_FAILURES_MAX workers in a row have ended without an answer, nobody waits for the next one.
 *   D. A process on which workers ended twice, and all of a user on whose processes REMOTE_USER_ENDS_MAX ended, are not
 *      queried for REMOTE_PAUSE_NS, longer each time (os/child.h): nobody keeps others from being examined for long.
 */
#ifndef RIPD_PROBE_REMOTE_H
#define RIPD_PROBE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "os/child.h"
#include "os/proc_maps.h"
#include "probe/kernel.h"

#define REMOTE_QUERIES_MAX 8u
#define REMOTE_LIMIT_NS UINT64_C(4000000000) /* it ends by itself before */
#define REMOTE_FAILURES_MAX 3u
#define REMOTE_USER_ENDS_MAX 4u
#define REMOTE_RESTART_NS UINT64_C(1000000000)
#define REMOTE_PAUSE_NS UINT64_C(60000000000)

struct remote;

/*
 * Starts the program, with the rights that the caller has. diag: to ask about unix sockets over (os/unix_diag.h), -1 =
 * none; it stays the caller's. 0 or -errno.
 */
int remote_new(struct remote **ret_remote, const char *program, int diag);
void remote_free(struct remote *remote); /* ends it; NULL is allowed */

/* A duplicate of the socket of ripd-probe, for fetch_new(). -errno; -ENOTCONN: it has ended. */
int remote_keeper(const struct remote *remote);

/* Notices workers that ended, and starts another, without waiting. */
void remote_look(struct remote *remote);

/* One suspect's thread. Comes back with the answer. */
struct remote_query {
    uint32_t ring; /* serial */
    uint32_t process;
    uint32_t uid; /* user that the ring counts as */
    uint32_t slot;
    uint32_t generation;
    uint32_t ring_tid; /* as the ring has it */
    uint32_t tid;      /* in our pid namespace */
    uint64_t progress;
    uint64_t address; /* where it stands, if its module is wanted; 0 = it is known */
    bool stopped;     /* of a stopped process: once that runs again the answer is void */
};

enum remote_asked {
    REMOTE_ASKED,   /* the answer comes, unless the worker ends */
    REMOTE_LATER,   /* too much is under way, or another worker is being started */
    REMOTE_REFUSED, /* no worker answers any more, or they ended on that process */
};

/* Whether as many queries are under way as there may be: remote_next() makes room. */
bool remote_is_full(const struct remote *remote);

/* Whether that process can be asked about now: the last query may be about it, and have room. */
bool remote_has_room(struct remote *remote, uint32_t ring, uint32_t process);

/* descriptor: of the ring's file; used until remote_flush(). */
enum remote_asked remote_ask(struct remote *remote, int descriptor, const struct remote_query *query);

/* Sends what was asked so far. */
void remote_flush(struct remote *remote);

/* Whether a query about that slot is under way. */
bool remote_is_asked(struct remote *remote, uint32_t ring, uint32_t slot);

/* Whether any is. */
bool remote_is_busy(const struct remote *remote);

struct remote_answer {
    struct remote_query query;
    bool attested; /* the process is vouched for */
    int status;    /* if attested of the thread, see kernel_read(); else of the query, see struct probe_answer */
    uint32_t pid;
    struct kernel_reading reading; /* if status is 0 */
    bool has_module;               /* of one for all threads of a query: what is mapped at query.address, */
    struct proc_object module;     /* path NULL: nothing; the path is valid until the next answer */
};

/* The next answer. False: none until deadline_mono_ns, or none is to come. */
bool remote_next(struct remote *remote, uint64_t deadline_mono_ns, struct remote_answer *ret_answer);

struct remote_counters {
    struct child_counters workers;
    bool gone; /* ripd-probe itself has ended: there will be no other worker */
};
void remote_count(const struct remote *remote, struct remote_counters *ret_counters);

#endif
