/* SPDX-License-Identifier: Apache-2.0 */
/*
 * item.h - the cells that a table shows of an id: from the JSON of an answer, which may be a liar's.
 *
 * Guarantees
 *   A. A member that is missing, null or neither a text nor a number is empty; nothing is assumed of it.
 *   B. Numbers are clamped where they are read: sums of them do not overflow.
 */
#ifndef RIP_CLI_ITEM_H
#define RIP_CLI_ITEM_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/table.h"

#define ITEM_UNKNOWN (-1)
#define ITEM_NUMBER_MAX 1000000000000LL /* as milliseconds 31 years */

/* A member as a number between 0 and ITEM_NUMBER_MAX; ITEM_UNKNOWN: it is none, or negative. */
long long item_number(const json_t *object, const char *key);

/* A member as text; NULL: it is none. And whether it is this text. */
const char *item_text(const json_t *object, const char *key);
bool item_is(const json_t *object, const char *key, const char *text);

/* Cells. Each is empty where nothing is known. */

/* "13.8s", "4m05s", "3h12m", "12d03h". */
void item_fill_duration(struct table_cell *cell, long long ms);
/* The same of a number of milliseconds. */
void item_fill_ms(struct table_cell *cell, const json_t *ms);

/* Function, file and line; else module and offset. */
void item_fill_where(struct table_cell *cell, const json_t *location);
/* The same with so many parts of the file's path, from its end; 0: all. */
void item_fill_path(struct table_cell *cell, const json_t *location, unsigned parts);

/* Its cause, in the colour of what has to be looked at; the state of one that is not stalled. */
void item_fill_cause(struct table_cell *cell, const json_t *item);
/* Its name, or its number; and its note. */
void item_fill_thread(struct table_cell *cell, const json_t *item);
/* The unit, else the command; and the pid. */
void item_fill_process(struct table_cell *cell, const json_t *item);
/* What it waits for: whom, else what the kernel says. */
void item_fill_on(struct table_cell *cell, const json_t *item);

/*
 * Adds a member of a chain: its name, else its number and what it is. The number is behind the name where another of
 * the chain, or who waits, has that name, too; both may be NULL.
 */
void item_add_member(struct table_cell *cell, const json_t *member, const json_t *chain, const json_t *waiter);

/* Adds the chain of locks of one that waits as "a, b, c"; a member of a deadlock itself is left out. */
void item_add_chain(struct table_cell *cell, const json_t *chain, const json_t *waiter);

/* What names an id, in a chain and in the list. False: it names none. */
#define ITEM_KEY_BYTES 320u /* a ring's name and a number */
bool item_make_key(char key[ITEM_KEY_BYTES], const json_t *object);

/*
 * "/threads/RING/ID": the id of this number in the ring of an item or of a member of a chain, in the bytes of the
 * ring's name, which ring_hex has where they are no text. False: it has none, or there is no room.
 */
bool item_target(char *target, size_t size, const json_t *item, long long id);

/* Whether two objects, items or members of a chain, are the same id. */
bool item_same_id(const json_t *a, const json_t *b);

#endif
