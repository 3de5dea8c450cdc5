/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - the --on-stall command: run for each begin and each end of a stall.
 *
 * The command is given to /bin/sh -c in a session of its own, with PATH, RIPD_EVENT=begin|end and RIPD_EPISODE=NUMBER
 * as its whole environment, the event's JSON and a newline on standard input, standard output at /dev/null and ripd's
 * own standard error.
 *
 * Guarantees
 *   A. No call waits for a command but hook_stop(), and that for HOOK_STOP_NS and HOOK_KILL_NS at most.
 *   B. At most HOOK_RUNNING_MAX run at once, each for at most HOOK_TIME_LIMIT_NS: then its process group gets SIGTERM,
 *      and SIGKILL after HOOK_GRACE_NS. What a command leaves in its group when it ends is killed.
 *   C. A begin is started before its end, and an end waits until its begin has ended; other episodes do not.
 *   D. What waits is bounded (cases/event_queue.h). Each event that is not given is counted and logged; so are
 *      failures. The log gets at most one line of each kind in HOOK_LOG_NS.
 *   E. Users take turns. However many events one user causes, those of another are not refused, and one place of
 *      HOOK_RUNNING_MAX stays free for them.
 *
 * Threads: the scanner's alone.
 */
#ifndef RIPD_APP_HOOK_H
#define RIPD_APP_HOOK_H

#include <stdint.h>

#include "cases/event.h"
#include "cases/health.h"
#include "work/work.h"

#define HOOK_USER_RUNNING_MAX 4u /* for the rings of one user */
#define HOOK_RUNNING_MAX (HOOK_USER_RUNNING_MAX + 1)
#define HOOK_TIME_LIMIT_NS UINT64_C(30000000000)
#define HOOK_GRACE_NS UINT64_C(5000000000)
#define HOOK_STOP_NS UINT64_C(2000000000) /* for those that run when the daemon stops */
#define HOOK_KILL_NS UINT64_C(1000000000) /* for those that were killed then, to be gone */
#define HOOK_RETRY_NS UINT64_C(1000000000)
#define HOOK_LOG_NS UINT64_C(10000000000)

struct hook;

struct hook_options {
    uint64_t time_limit_ns;   /* HOOK_TIME_LIMIT_NS */
    uint64_t grace_ns;        /* HOOK_GRACE_NS */
    uint64_t descriptors_max; /* soft limit that commands get; 0: the daemon's own */
    struct work *work;        /* in whose accounts refusals are counted */
    struct health *health;    /* what becomes of the command is counted there */
};

/* 0 or -errno. Has no command yet. */
int hook_new(struct hook **ret_hook, const struct hook_options *options);
void hook_free(struct hook *hook); /* after hook_stop(); NULL is allowed */

/* From now on; NULL or "": none, and what waits is forgotten. Those that run go on. 0 or -ENOMEM. */
int hook_set_command(struct hook *hook, const char *command);

/* Takes a reference of its own. */
void hook_push(struct hook *hook, struct event *event);

/* Reaps, ends what has run too long, starts what waits. */
void hook_step(struct hook *hook, uint64_t now_mono_ns);

/* hook_step() is due when the descriptor is readable, or after this time; UINT64_MAX: never. */
int hook_descriptor(const struct hook *hook);
uint64_t hook_wait_ns(const struct hook *hook, uint64_t now_mono_ns);

/* Starts nothing more, waits for those that run, then kills them. */
void hook_stop(struct hook *hook);

#endif
