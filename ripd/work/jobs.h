/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.h - whose turn is next: the job queue of a struct work. Pure.
 *
 * Guarantees
 *   A. The next job belongs to the user on whom least time was spent. Among the user's jobs the lowest class comes
 *      first, then the lowest order, then the lowest subject. Whatever one user queues costs another user at most one
 *      turn.
 *   B. A job that is queued again for a later time (a second look) is the same job, not another mechanism.
 */
#ifndef RIPD_WORK_JOBS_H
#define RIPD_WORK_JOBS_H

#include "work/work.h"

struct work_job {
    uint64_t order;   /* within its class: lower first */
    uint32_t subject; /* the caller's index; lower first among equals */
    uint16_t class;   /* within its user: lower first */
    uint16_t kind;    /* the caller's */
};

/*
 * Begins a scan: empties the queue and halves the time spent in earlier scans. Accounts that hold nothing are removed.
 */
void work_begin(struct work *work);

/* Returns 0 or -ENOMEM. With due_ns the job is not returned before that time. */
int work_push(struct work *work, uint32_t user, struct work_job job);
int work_push_at(struct work *work, uint32_t user, struct work_job job, uint64_t due_ns);

/*
 * Returns the next job of a class up to class_max, or false if there is none now. work_next_due() returns when a job of
 * any class can be next: 0 = now, UINT64_MAX = nothing is queued.
 */
bool work_next(struct work *work, uint64_t now_ns, uint16_t class_max, struct work_job *ret_job, uint32_t *ret_user);
uint64_t work_next_due(const struct work *work);

/* Returns when the first delayed job is due; UINT64_MAX = there is none. */
uint64_t work_delayed_until(const struct work *work);

/* Drops all queued jobs, including delayed ones. */
void work_clear(struct work *work);

/* As work_clear(); also counts a refusal for each job of a class up to class_max. */
void work_refuse_queued(struct work *work, enum work_limit limit, uint16_t class_max);

/* Drops the user's queued jobs, except delayed ones. Returns their number. */
size_t work_drop(struct work *work, uint32_t user);

/* Charges time to a user. Every job costs something: 0 counts as 1. */
void work_spend(struct work *work, uint32_t user, uint64_t spent_ns);

/* Gives a user no turn before that time. Its jobs stay queued. */
void work_pause(struct work *work, uint32_t user, uint64_t until_ns);

/*
 * If a limit per scan runs out, the user's next scan begins at the place where this one stopped, so that each of its
 * rings gets its turn eventually. Places are numbers from 1. On each scan work_has_turn() must be called for all of
 * them in ascending order. work_stop() counts a refusal.
 */
bool work_has_turn(struct work *work, uint32_t user, enum work_limit limit, uint32_t place);
void work_stop(struct work *work, uint32_t user, enum work_limit limit, uint32_t place);

#endif
