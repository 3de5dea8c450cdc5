/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_ids.h - the ids at the end of a session as JSON, in ripd's format; and the number of snaps at each location.
 * Pure except for allocations.
 *
 * Guarantees
 *   A. At most DUMP_ENDED_MAX ended ids are kept, the first ones, and at most DUMP_PLACES_MAX locations.
 */
#ifndef RIP_CLI_DUMP_IDS_H
#define RIP_CLI_DUMP_IDS_H

#include <jansson.h>

#include "cli/names.h"
#include "rip/session.h"

#define DUMP_ENDED_MAX 10000u
#define DUMP_PLACES_MAX 65536u

struct dump_ids;

struct dump_ids *dump_ids_new(void);
void dump_ids_free(struct dump_ids *ids);

/* Handles an event. */
void dump_ids_take(struct dump_ids *ids, const struct rip_event *event);

/* Returns an item for each id that has not ended, by ring and slot. names gives names to its locations; NULL: none. */
json_t *dump_ids_items(const struct dump_ids *ids, struct names *names);

/* The same for each id that has ended, newest first. */
json_t *dump_ids_ended(const struct dump_ids *ids, struct names *names);

/* Returns objects with a "location" and a "count": the number of known snaps there. */
json_t *dump_ids_places(const struct dump_ids *ids, struct names *names);

#endif
