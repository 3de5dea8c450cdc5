/* SPDX-License-Identifier: Apache-2.0 */
/*
 * incidents.h - episodes with one root are one incident: what a person has to hear of once. Pure.
 *
 * The root of an id is who holds it up: the end of its chain of locks, of a deadlock the same member for all that hang
 * on it; of an id that waits for no lock it is the id itself. All threads of a process that is stuck as a whole have
 * one root. So have the ids of a process that could not be examined in time: a crowd behind one lock may be more than
 * there is time to look at, and is one thing to hear of all the same. Who has their root when it is found joins them.
 *
 * Guarantees
 *   A. An incident is numbered like the episode that began it: the root's own, if that begins on the same scan.
 *   B. An id that comes later joins the incident of those that have its root by then. What an episode belongs to never
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

/* Those that are open. All zero is none. */
struct incidents {
    struct incident *entries; /* ascending */
    size_t count;
    size_t capacity;
};
void incidents_done(struct incidents *incidents);

/* A kind of root beyond enum waits_kind: a process that is stuck as a whole. */
#define STALL_ROOT_PROCESS (WAITS_GONE + 1u)
/* And ids of a process whose begins were published before they were examined. */
#define STALL_ROOT_UNEXAMINED (WAITS_GONE + 2u)

/* Finds the root of each case. waits: of this scan, or NULL: nobody is known to wait. */
void incidents_find_roots(struct stall_case *const *cases, size_t count, const struct waits *waits);

/* Gives each episode that has a number and no incident its incident, and its waiting_count, by the roots. -ENOMEM: each
 * is an incident of its own. */
int incidents_assign(struct stall_case *const *cases, size_t count);

/* An episode of an incident begins, or is over. Whether it is the first, or the last one. */
bool incidents_enter(struct incidents *incidents, uint64_t number);
bool incidents_leave(struct incidents *incidents, uint64_t number);

#endif
