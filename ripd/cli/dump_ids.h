/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_ids.h - the ids of a session as JSON, as ripd lists them, as of the end of the session; and how often each place
 * was passed. Pure but for allocations.
 *
 * Guarantees
 *   A. What is kept of ended ids is bounded by DUMP_ENDED_MAX, the first of them; places by DUMP_PLACES_MAX.
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

/* Takes in an event. */
void dump_ids_take(struct dump_ids *ids, const struct rip_event *event);

/* An item for each id that has not ended, by ring and slot. names: for its places; NULL = they get none. */
json_t *dump_ids_items(const struct dump_ids *ids, struct names *names);

/* The same for each that has ended, the newest first. */
json_t *dump_ids_ended(const struct dump_ids *ids, struct names *names);

/* Objects with a "location" and a "count": how many snaps are known of it. */
json_t *dump_ids_places(const struct dump_ids *ids, struct names *names);

#endif
