/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_ids.h - the ids of a session as JSON in the form of ripd's, as they were at its end, and how often each place
 * was passed. Pure but for allocations.
 *
 * Guarantees
 *   A. What is kept of what has ended is bounded: DUMP_ENDED_MAX ids, the first of them; and DUMP_PLACES_MAX places.
 */
#ifndef RIP_CLI_DUMP_IDS_H
#define RIP_CLI_DUMP_IDS_H

#include <jansson.h>

#include "rip/session.h"

#define DUMP_ENDED_MAX 10000u
#define DUMP_PLACES_MAX 65536u

struct dump_ids;

struct dump_ids *dump_ids_new(void); /* NULL: no memory */
void dump_ids_free(struct dump_ids *ids);

/* Takes in an event. 0 or -ENOMEM. */
int dump_ids_take(struct dump_ids *ids, const struct rip_event *event);

/* An item for each id that is there, in the order of their coming, or for each that has ended, the newest first. */
json_t *dump_ids_items(const struct dump_ids *ids, bool ended);

/* Places with "count", how many snaps are known of each. */
json_t *dump_ids_places(const struct dump_ids *ids);

/* Paths of modules, by build id: for names_fill(). */
json_t *dump_ids_paths(const struct dump_ids *ids);

#endif
