/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.h - whose turn is next: the queue of a struct work. Pure.
 *
 * Guarantees
 *   A. The next job is one of the user for whom the least time was spent; among his jobs the lowest class comes first,
 *      then the lowest order, then the lowest subject. Whatever one user queues costs another user at most one turn.
 *   B. A job that is queued again after a time (a second look) is the same job, not another mechanism.
 */
#ifndef RIPD_WORK_JOBS_H
#define RIPD_WORK_JOBS_H

#include "work/work.h"

struct work_job {
    uint64_t order;   /* within its class: lower first */
    uint32_t subject; /* the caller's: an index; among equals lower first */
    uint16_t class;   /* lower first, within its user */
    uint16_t kind;    /* the caller's */
};

/* A new scan: the queue is empty, what was spent in earlier ones counts half, accounts that hold nothing may go. */
void work_begin(struct work *work);

/* 0 or -ENOMEM. With due_ns the job cannot be next before that time. */
int work_push(struct work *work, uint32_t user, struct work_job job);
int work_push_at(struct work *work, uint32_t user, struct work_job job, uint64_t due_ns);

/*
 * The next job of a class up to class_max. False: there is none now. work_next_due() is when one can be next, of any
 * class: 0 = now, UINT64_MAX = nothing is queued.
 */
bool work_next(struct work *work, uint64_t now_ns, uint16_t class_max, struct work_job *ret_job, uint32_t *ret_user);
uint64_t work_next_due(const struct work *work);

/* When the first of the jobs that wait for their time is due; UINT64_MAX = none waits. */
uint64_t work_delayed_until(const struct work *work);

/* Drops all queued jobs, those that wait for their time included. */
void work_clear(struct work *work);

/* The same; of each job of a class up to class_max a refusal is counted. */
void work_refuse_queued(struct work *work, enum work_limit limit, uint16_t class_max);

/* Drops the jobs of a user that can be next; returns how many. */
size_t work_drop(struct work *work, uint32_t user);

/* Time that was spent for a user. Every job costs something: 0 counts as 1. */
void work_spend(struct work *work, uint32_t user, uint64_t spent_ns);

/* A user gets no turn before that time; his jobs stay queued. */
void work_pause(struct work *work, uint32_t user, uint64_t until_ns);

/*
 * Where a limit of a scan runs out, a user's next scan begins at the place where this one stopped, so that each of his
 * rings has its turn in the end. Places are numbers from 1 on; all are asked about on each scan, in ascending order.
 * work_stop() counts a refusal.
 */
bool work_has_turn(struct work *work, uint32_t user, enum work_limit limit, uint32_t place);
void work_stop(struct work *work, uint32_t user, enum work_limit limit, uint32_t place);

#endif
