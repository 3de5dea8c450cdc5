/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook.h - the --on-stall command, run for each begin and each end of a stall.
 *
 * /bin/sh -c runs the command in a session of its own. Its whole environment is PATH, RIPD_EVENT=begin|end,
 * RIPD_EPISODE=NUMBER and RIPD_INCIDENT=NUMBER. Standard input is the event's JSON and a newline, standard output is
 * /dev/null, standard error is ripd's.
 *
 * Guarantees
 *   A. No call waits for a command except hook_stop(), for at most HOOK_STOP_NS plus HOOK_KILL_NS.
 *   B. At most HOOK_RUNNING_MAX commands run at once, each for at most HOOK_TIME_LIMIT_NS. Then its process group gets
 *      SIGTERM, and SIGKILL after HOOK_GRACE_NS. Processes that a command leaves in its group when it ends are killed.
 *   C. The command for a begin starts before the one for its end, which waits until the first has ended. Commands of
 *      other episodes do not wait.
 *   D. The queue is bounded (cases/event_queue.h). Each event that is dropped is counted and logged; so are failures.
 *      The log gets at most one line of each kind per HOOK_LOG_NS.
 *   E. Users take turns. However many events one user causes, events of other users are not dropped, and one of the
 *      HOOK_RUNNING_MAX places stays free for them.
 *
 * Used by the scanner thread only.
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
#define HOOK_STOP_NS UINT64_C(2000000000) /* for running commands when the daemon stops */
#define HOOK_KILL_NS UINT64_C(1000000000) /* for killed commands to end after that */
#define HOOK_RETRY_NS UINT64_C(1000000000)
#define HOOK_LOG_NS UINT64_C(10000000000)

struct hook;

struct hook_options {
    uint64_t time_limit_ns;   /* usually HOOK_TIME_LIMIT_NS */
    uint64_t grace_ns;        /* usually HOOK_GRACE_NS */
    uint64_t descriptors_max; /* soft RLIMIT_NOFILE of commands; 0: the daemon's own */
    struct work *work;        /* its accounts count refusals */
    struct health *health;    /* counts the results of the command */
};

/* Returns 0 or -errno. There is no command until hook_set_command(). */
int hook_new(struct hook **ret_hook, const struct hook_options *options);
void hook_free(struct hook *hook); /* after hook_stop(); NULL is allowed */

/*
 * Sets the command for future events. NULL or "" means none, and drops the queue; running commands continue. Returns 0
 * or -ENOMEM.
 */
int hook_set_command(struct hook *hook, const char *command);

/* Takes its own reference. */
void hook_push(struct hook *hook, struct event *event);

/* Reaps commands, ends those that timed out, starts the next ones. */
void hook_step(struct hook *hook, uint64_t now_mono_ns);

/* hook_step() is due when the descriptor is readable, or after hook_wait_ns(). UINT64_MAX: no timer is set. */
int hook_descriptor(const struct hook *hook);
uint64_t hook_wait_ns(const struct hook *hook, uint64_t now_mono_ns);

/* Starts no more commands, waits for the running ones, then kills them. */
void hook_stop(struct hook *hook);

#endif
