/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incidents.h - groups episodes with the same root into incidents, so that each problem is reported once. Pure.
 *
 * The root of an id is what it ultimately waits for:
 *
 *   - It waits for a lock: the end of its chain of locks.
 *   - It waits, directly or through others, for a deadlock: the same member of the deadlock for all of them.
 *   - Its process is stuck as a whole: the process.
 *   - It could not be examined in time: its process. There may be more ids behind one lock than the budget allows to
 *     examine, and they are still one problem. An id whose root is the root of one of them, when that is found, joins
 *     their incident.
 *   - Otherwise: the id itself.
 *
 * Guarantees
 *   A. An incident has the number of the episode that began it: the episode of the root itself, if that begins on the
 *      same scan.
 *   B. A later id joins the incident of the ids that have its root at that time. The incident of an episode never
 *      changes, whatever its id waits for later.
 *   C. An incident is over with the last of its episodes.
 */
#ifndef RIPD_CASES_INCIDENTS_H
#define RIPD_CASES_INCIDENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/case.h"
#include "cases/waits.h"

/* The open incidents. All zero: none. */
struct incidents {
    struct incident *entries; /* ascending by number */
    size_t count;
    size_t capacity;
};
void incidents_done(struct incidents *incidents);

/* Kinds of roots in addition to enum waits_kind: a process that is stuck as a whole, */
#define STALL_ROOT_PROCESS (WAITS_GONE + 1u)
/* and the ids of a process whose begins were published before they were examined. */
#define STALL_ROOT_UNEXAMINED (WAITS_GONE + 2u)

/* Finds the root of each case. waits is that of this scan; NULL: no id is known to wait. */
void incidents_find_roots(struct stall_case *const *cases, size_t count, const struct waits *waits);

/*
 * Sets incident and waiting_count of each episode that has a number but no incident, according to the roots. Returns 0,
 * or -ENOMEM: then each of them is an incident of its own.
 */
int incidents_assign(struct stall_case *const *cases, size_t count);

/*
 * An episode of an incident begins, or is over. Return true if it is the first, or the last, episode of the incident.
 * If out of memory, an incident is not stored and each of its ends counts as the last.
 */
bool incidents_enter(struct incidents *incidents, uint64_t number);
bool incidents_leave(struct incidents *incidents, uint64_t number);

#endif
