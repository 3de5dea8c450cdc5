/* SPDX-License-Identifier: Apache-2.0 */
/*
 * item.h - the cells of a table for an id, from the JSON of an answer, which is not trusted.
 *
 * Guarantees
 *   A. A member that is missing, null or neither a text nor a number is empty; there are no assumptions about it.
 *   B. Numbers are clamped when they are read, so their sums do not overflow.
 */
#ifndef RIP_CLI_ITEM_H
#define RIP_CLI_ITEM_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/table.h"

#define ITEM_UNKNOWN (-1)
#define ITEM_NUMBER_MAX 1000000000000LL /* 31 years of milliseconds */

/* Returns a member as a number between 0 and ITEM_NUMBER_MAX, or ITEM_UNKNOWN if it is not a number or is negative. */
long long item_number(const json_t *object, const char *key);

/* Returns a member as text, or NULL if it is not a text. item_is() returns whether it is this text. */
const char *item_text(const json_t *object, const char *key);
bool item_is(const json_t *object, const char *key, const char *text);

/* Cells. A cell is empty if the value is not known. */

/* Writes "13.8s", "4m05s", "3h12m", "12d03h". */
void item_fill_duration(struct table_cell *cell, long long ms);
/* The same for a number of milliseconds. */
void item_fill_ms(struct table_cell *cell, const json_t *ms);

/* Writes function, file and line; else module and offset. */
void item_fill_where(struct table_cell *cell, const json_t *location);
/* The same with at most `parts` parts of the file's path, counted from its end; 0: all. */
void item_fill_path(struct table_cell *cell, const json_t *location, unsigned parts);

/* Writes the cause, coloured if it needs attention; the state of an id that is not stalled. */
void item_fill_cause(struct table_cell *cell, const json_t *item);
/* Writes the name, or the number; and the note. */
void item_fill_thread(struct table_cell *cell, const json_t *item);
/* Writes the unit, else the command; and the pid. */
void item_fill_process(struct table_cell *cell, const json_t *item);
/* Writes what the id waits for: the holders, else what the kernel reports. */
void item_fill_on(struct table_cell *cell, const json_t *item);

/*
 * Adds a member of a chain: its name, else its number and kind. The number follows the name if another member of the
 * chain, or the waiter, has the same name. chain and waiter may be NULL.
 */
void item_add_member(struct table_cell *cell, const json_t *member, const json_t *chain, const json_t *waiter);

/* Adds the chain of locks of a waiter as "a, b, c"; a member of a deadlock leaves itself out. */
void item_add_chain(struct table_cell *cell, const json_t *chain, const json_t *waiter);

/* Makes a key that identifies an id, in a chain and in the list. Returns false if the object names no id. */
#define ITEM_KEY_BYTES 320u /* a ring's name and a number */
bool item_make_key(char key[ITEM_KEY_BYTES], const json_t *object);

/*
 * Writes "/threads/RING/ID" for the id with this number in the ring of an item or of a member of a chain. Uses the
 * original bytes of the ring's name (ring_hex) if they are not text. Returns false if there is no ring, or if it does
 * not fit.
 */
bool item_target(char *target, size_t size, const json_t *item, long long id);

/* Returns whether two objects, items or members of a chain, are the same id. */
bool item_same_id(const json_t *a, const json_t *b);

#endif
