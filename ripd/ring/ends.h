/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends.h - notices the end of a process at once, with a pidfd. For ripd/ring alone.
 *
 * Guarantees
 *   A. The pidfd is of the process that was judged: the start time is checked again after the pidfd was opened.
 *   B. The number of pidfds is limited by user (WORK_ENDINGS).
 */
#ifndef RIPD_RING_ENDS_H
#define RIPD_RING_ENDS_H

#include "ring/host.h"

struct end_watch;

/* Watches an attested process. Does nothing if ends are not noticed, or the process is watched already. */
void ends_watch(struct ring_host *host, const struct ring *ring, struct ring_process *process);
void ends_unwatch(struct end_watch *watch); /* NULL is allowed */

/*
 * Call after each judgement. A process that is missing but still running executes another program. PROCESS_DEAD
 * confirms it.
 */
void ends_judge(struct end_watch *watch, enum process_verdict verdict);

/*
 * Notes that a signal is killing the process. Its end may take long, for example because the kernel writes a core file.
 */
void ends_note_dying(struct end_watch *watch);
bool ends_is_dying(const struct end_watch *watch);

/*
 * Returns the next process that has ended or is about to end. What its record says is not checked here. Returns false
 * if there is none.
 */
bool ends_next(struct ring_host *host, struct process_end *ret_end);

#endif
