/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - list documents of one host or of several: their items as a table, or as JSON, an object a line; and their
 * frame. Prints on standard output.
 *
 * A column of a list says how its cells are made: of a member of the item, or of the row.
 */
#ifndef RIP_CLI_LIST_H
#define RIP_CLI_LIST_H

#include "cli/hosts.h"
#include "cli/table.h"

/* What a row begins with. */
struct list_row {
    const json_t *item;
    size_t host;
};

struct list {
    const struct hosts *hosts; /* NULL: rows are of no host */
    bool json;
    struct table table;
    struct table_column columns[TABLE_COLUMNS_MAX]; /* with HOST where hosts_named() */
};

/* rows_known: list_print() comes next; else list_begin(), and list_print_row() for each row as it comes. */
void list_init(struct list *list, const struct hosts *hosts, bool json, const struct table_column *columns,
               size_t count, bool rows_known);

/* Titles and so many rows, each of row_bytes; nothing where there are none. */
void list_print(struct list *list, const void *rows, size_t row_bytes, size_t count);

/* The titles, unless it is JSON. */
void list_begin(struct list *list);
void list_print_row(const struct list *list, const struct list_row *row);

/* Cells that several lists have: the location of an item, with as much of the path as there is room for; a duration. */
void list_fill_where(struct table_cell *cell, const struct list_row *row, const struct table *table);
void list_fill_duration(struct table_cell *cell, const json_t *ms);

/* ---- the frame: how many ids the scan saw, and whether it missed some ---- */

/* Of the ids in a state; NULL: in all states together. 0 where the document does not say. */
long long frame_count(const json_t *document, const char *state);

/* Items that match, also those that are not in the document. */
long long frame_total(const json_t *document);

/* Rings that ripd found and cannot read. */
long long frame_unreadable(const json_t *document);

/* Whether the scan is older than three intervals, as /readyz has it; *ret_age_ms: how old it is. */
bool frame_is_late(const json_t *document, long long *ret_age_ms);

/* How many hosts have answered. */
size_t frame_answered(const struct hosts *hosts);

/* Messages for each host whose answer has less than there is: list names its member with the ids. */
void frame_warn(const struct hosts *hosts, const char *list);

#endif
