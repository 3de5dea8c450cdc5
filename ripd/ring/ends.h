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

struct end_watch;

/* Watches an attested process, if ends are noticed, unless it is watched already. */
void ends_watch(struct ring_host *host, const struct ring *ring, struct ring_process *process);
void ends_unwatch(struct end_watch *watch); /* NULL is allowed */

/*
 * Takes in how its process is judged, each time. One that is missing and lives on executes another program; dead says
 * that it is so.
 */
void ends_judge(struct end_watch *watch, enum process_verdict verdict);

/* A signal kills its process, which may take long: it may be writing a core file. */
void ends_note_dying(struct end_watch *watch);
bool ends_is_dying(const struct end_watch *watch);

/* The next that has ended, or is about to. Of what its record says nothing is known here. */
bool ends_next(struct ring_host *host, struct process_end *ret_end);

#endif
