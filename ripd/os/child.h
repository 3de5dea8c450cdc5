/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - a process that answers queries over a socket pair, and may die, hang or answer nonsense on any query. These
 * are the symbolizer, and the worker and the fetcher of ripd-probe.
 *
 * A child is either a program that is started here, or a process that a keeper forks when it receives the other end of
 * the socket pair.
 *
 * Guarantees
 *   A. A program is started with an empty environment, and with no descriptor except its socket (SPAWN_SOCKET) and
 *      standard error.
 *   B. A child that dies, hangs or answers nonsense is replaced by the next child_start(), but not before restart_ns
 *      have passed since the last start.
 *   C. The user on whose query a child ended is blamed, and so is the key of the query (a file, a process). Once
 *      user_ends children have ended on a user, or key_ends on a key, that user or key is not queried for pause_ns.
 *      Each further end doubles the pause, up to CHILD_PAUSE_MAX_NS. Blame is dropped CHILD_FORGIVE_NS after the last
 *      end.
 *   D. A child that the kernel cannot end (because it waits for a lost disk) is not waited for. The blamed user is not
 *      queried while it exists. While CHILD_LEAVING_MAX such children exist, no other one is started.
 *   E. No call waits longer than its caller allows, plus CHILD_REAP_NS for a killed program.
 *   F. child_count() may be called by any thread, the rest by one at a time.
 */
#ifndef RIPD_OS_CHILD_H
#define RIPD_OS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_LEAVING_MAX 4u
#define CHILD_BLAMED_MAX 32u /* remembered users and keys; the oldest is evicted */
#define CHILD_PAUSE_MAX_NS UINT64_C(600000000000)
#define CHILD_FORGIVE_NS UINT64_C(600000000000)
#define CHILD_REAP_NS UINT64_C(500000000)
#define CHILD_READY_NS UINT64_C(10000000000) /* timeout for a program's message that it is ready */

/* Why a child ended. child_end_name() has the words for the log and for metrics. */
enum child_end {
    CHILD_DIED,     /* it ended on a query */
    CHILD_HUNG,     /* no answer in time, or no CPU time used for too long */
    CHILD_NONSENSE, /* its answer was invalid */
    CHILD_IDLE,     /* it ended without a query: no user is blamed */
    CHILD_END_COUNT,
};

/* Returns a static string. */
const char *child_end_name(enum child_end end);

struct child_options {
    const char *program; /* copied; NULL = a keeper forks the child */
    uint32_t ready;      /* first word of the message that the program sends when it is ready; 0 = it sends none */
    int keeper;          /* without program: socket of the keeper, which is sent request; borrowed */
    uint32_t request;
    uint64_t restart_ns;
    uint64_t pause_ns;
    unsigned user_ends; /* at least 1 */
    unsigned key_ends;  /* 0 = keys are not remembered */
};

struct child;

int child_new(struct child **ret_child, const struct child_options *options); /* starts nothing; 0 or -ENOMEM */
void child_free(struct child *child);                                         /* ends the child; NULL is allowed */

/*
 * Starts a child if none runs. Returns 0, or
 *   -EAGAIN     restart_ns have not passed yet
 *   -EBUSY      CHILD_LEAVING_MAX children cannot be ended
 *   -ENOTCONN   the keeper has ended
 *   -EPROTO     the program ended before it was ready
 *   -ECANCELED  cancel (-1 = none) became readable
 *   another -errno
 */
int child_start(struct child *child, int cancel);
bool child_runs(const struct child *child);

/* Whether that user or key must not be queried now. key 0: the user only. */
bool child_is_blamed(struct child *child, uint32_t user, uint64_t key);
bool child_is_held_up(struct child *child, uint32_t user);          /* by guarantee D */
uint64_t child_pause_end(const struct child *child, uint32_t user); /* of the user itself; 0 = not paused */
/* Returns how many children ended on queries of that user, 0 once forgiven. */
unsigned child_user_ends(const struct child *child, uint32_t user);

/* How long to wait for an answer. */
struct child_wait {
    uint64_t limit_ns;
    uint64_t still_ns; /* a program that uses no CPU time for this long hangs; 0 = no limit */
    int cancel;        /* descriptor that ends the wait when it is readable; -1 = none */
};

/* descriptor: borrowed; -1 = none. Returns 0; -EAGAIN if the child does not read; -EPIPE if it has ended. */
int child_send(struct child *child, const void *bytes, size_t count, int descriptor);

/*
 * Receives the next message, like packet_receive(). Also returns -ETIMEDOUT and -ECANCELED. -EPIPE: the child has
 * ended. ret_descriptor may be NULL.
 */
ssize_t child_receive(struct child *child, void *buffer, size_t capacity, int *ret_descriptor,
                      const struct child_wait *wait);

/* Drops a child that ended or sent a message while there was no query. */
void child_check(struct child *child);

/* Ends the child. user and key are blamed, unless end is CHILD_IDLE. */
void child_drop(struct child *child, enum child_end end, uint32_t user, uint64_t key);

/*
 * Sends one query and waits for its answer. Returns its size, or
 *   -EPIPE, -ETIMEDOUT, -EBADMSG  the child was dropped; user and key are blamed
 *   -ENOTCONN                     no child runs, or it had ended before; nobody is blamed
 *   -ECANCELED                    the child was ended; nobody is blamed
 *   -EMFILE                       no room for the answer's descriptor; the child continues
 */
struct child_query {
    const void *bytes;
    size_t count;
    int descriptor; /* -1 = none */
    uint32_t user;
    uint64_t key;
    struct child_wait wait;
};
ssize_t child_ask(struct child *child, const struct child_query *query, void *buffer, size_t capacity,
                  int *ret_descriptor);

struct child_counters {
    uint64_t start_count;
    uint64_t end_counts[CHILD_END_COUNT];
};
void child_count(const struct child *child, struct child_counters *ret_counters);
uint64_t child_died_count(const struct child_counters *counters); /* all ends except CHILD_HUNG */

#endif
