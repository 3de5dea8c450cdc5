/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - a process that answers queries over a pair of sockets, and may die, hang or answer nonsense on any of them:
 * the symbolizer, and the worker and the fetcher of ripd-probe.
 *
 * Either a program that is started here, or a process that a keeper forks when it is sent the other end of the pair.
 *
 * Guarantees
 *   A. A program is started with an empty environment, and no descriptor but its socket (SPAWN_SOCKET) and standard
 *      error.
 *   B. A child that dies, hangs or answers nonsense is replaced by the next child_start(), no sooner than restart_ns
 *      after the last start.
 *   C. The user on whose query it ended is blamed, and so is the key (a file, a process) that the query names. After
 *      user_ends and key_ends of them, neither is queried for pause_ns, doubled for each further end up to
 *      CHILD_PAUSE_MAX_NS. CHILD_FORGIVE_NS after the last end there are none.
 *   D. A child that the kernel does not let go (it waits for a disk that is gone) is not waited for. It holds up the
 *      user who is blamed for it. While CHILD_LEAVING_MAX are held up, no other is started.
 *   E. No call waits longer than its caller allows, and CHILD_REAP_NS for a program that is killed.
 *   F. child_count() may be called by any thread, the rest by one at a time.
 */
#ifndef RIPD_OS_CHILD_H
#define RIPD_OS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CHILD_LEAVING_MAX 4u
#define CHILD_BLAMED_MAX 32u /* users and keys that are remembered; the oldest goes */
#define CHILD_PAUSE_MAX_NS UINT64_C(600000000000)
#define CHILD_FORGIVE_NS UINT64_C(600000000000)
#define CHILD_REAP_NS UINT64_C(500000000)
#define CHILD_READY_NS UINT64_C(10000000000) /* a program sends that it is ready within this */

/* Why a child ended; the words are those of the log and of metrics. */
enum child_end {
    CHILD_DIED,     /* on a query */
    CHILD_HUNG,     /* no answer in time, or no CPU time used for too long */
    CHILD_NONSENSE, /* what cannot be an answer */
    CHILD_IDLE,     /* while there was no query: nobody is blamed */
    CHILD_END_COUNT,
};

/* Static strings. */
const char *child_end_name(enum child_end end);

struct child_options {
    const char *program; /* copied; NULL: a keeper forks the child */
    uint32_t ready;      /* first word of a message that the program sends once it is ready; 0 = it sends none */
    int keeper;          /* socket that the other end is sent over, with request; stays the caller's */
    uint32_t request;
    uint64_t restart_ns;
    uint64_t pause_ns;
    unsigned user_ends; /* at least 1 */
    unsigned key_ends;  /* 0 = keys are not remembered */
};

struct child;

int child_new(struct child **ret_child, const struct child_options *options); /* starts nothing. 0 or -ENOMEM */
void child_free(struct child *child);                                         /* ends it; NULL is allowed */

/*
 * Starts a child if none runs. 0; -EAGAIN: not yet; -EBUSY: too many are held up; -ENOTCONN: the keeper has ended;
 * -EPROTO: the program ended before it was ready; -ECANCELED: cancel (-1 = none) became readable; another -errno.
 */
int child_start(struct child *child, int cancel);
bool child_runs(const struct child *child);

/* Whether that user or key is not queried now. key 0: the user alone. */
bool child_is_blamed(struct child *child, uint32_t user, uint64_t key);
bool child_is_held_up(struct child *child, uint32_t user);          /* by guarantee D */
uint64_t child_pause_end(const struct child *child, uint32_t user); /* of the user alone; 0 = he is not paused */
/* How many children ended on queries of that user, unless it is forgiven. */
unsigned child_user_ends(const struct child *child, uint32_t user);

/* How long to wait for an answer. */
struct child_wait {
    uint64_t limit_ns;
    uint64_t still_ns; /* a program that uses no CPU time for so long hangs; 0 = any time */
    int cancel;        /* -1 = none */
};

/* descriptor may be -1, and stays the caller's. 0; -EAGAIN: the child does not read; -EPIPE: it has ended. */
int child_send(struct child *child, const void *bytes, size_t count, int descriptor);

/*
 * The next message, as packet_receive() has it. -ETIMEDOUT; -ECANCELED; -EPIPE: it has ended. ret_descriptor may be
 * NULL.
 */
ssize_t child_receive(struct child *child, void *buffer, size_t capacity, int *ret_descriptor,
                      const struct child_wait *wait);

/* Notices a child that ended, or sent something, while there was no query. */
void child_check(struct child *child);

/* Ends a child for that reason. */
void child_drop(struct child *child, enum child_end end, uint32_t user, uint64_t key);

/*
 * Sends one query and waits for its answer, from a child that runs. On failure the child has been dropped: -EPIPE,
 * -ETIMEDOUT or -EBADMSG blame user and key, -ENOTCONN (it had ended before) and -ECANCELED nobody. -EMFILE: there was
 * no room for the answer's descriptor; the child goes on.
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
uint64_t child_died_count(const struct child_counters *counters); /* that ended by themselves, or were no good */

#endif
