/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends.h - the end of a process, noticed at once, by a descriptor that is held on it. For ripd/ring alone.
 *
 * Guarantees
 *   A. The descriptor is of the very process that the record was judged to be of: its start time is looked at once
 *      more after it was taken.
 *   B. How many are held is bounded by user (WORK_ENDINGS).
 */
#ifndef RIPD_RING_ENDS_H
#define RIPD_RING_ENDS_H

#include "ring/host.h"

struct ends;
struct end_watch;

struct ends *ends_new(struct ring_host *host); /* NULL: no memory, or no descriptor */
void ends_free(struct ends *ends);

/* Readable when a watched process has ended. */
int ends_descriptor(const struct ends *ends);

/* Watches an attested process, unless it is watched already. */
void ends_watch(struct ends *ends, const struct ring *ring, struct ring_process *process);
void ends_unwatch(struct end_watch *watch); /* NULL is allowed */

/*
 * How its process was judged. Missing, and it lives on: it executes another program, which is returned at once; dead
 * says that it is so.
 */
void ends_judge_missing(struct end_watch *watch);
void ends_judge_alive(struct end_watch *watch);
void ends_judge_dead(struct end_watch *watch);

/* The next that has ended. Of what its record says nothing is known here. */
bool ends_next(struct ends *ends, struct process_end *ret_end);

#endif
