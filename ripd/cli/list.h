/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - list documents of one host or of several: their items as a table, or as JSON, an object a line; and their
 * frame. Prints on standard output.
 *
 * What a row shows is in its item: what is found out about it here is added to it as further members.
 */
#ifndef RIP_CLI_LIST_H
#define RIP_CLI_LIST_H

#include "cli/hosts.h"
#include "cli/table.h"
#include "detect/state.h"

struct list_row {
    json_t *item; /* a reference, of rows that are in a list */
    size_t host;
};

struct list {
    bool of_hosts;
    bool json;
    struct table table;
    struct table_column columns[TABLE_COLUMNS_MAX]; /* with HOST where it is of several hosts */
    struct list_row *rows;
    size_t count;
    size_t capacity;
};

void list_init(struct list *list, bool of_hosts, bool json, const struct table_column *columns, size_t count);
void list_done(struct list *list);

/* Takes over a reference. */
void list_add(struct list *list, size_t host, json_t *item);

/* All items of that list of all documents. */
void list_add_each(struct list *list, const char *member);

/* By compare, of two struct list_row. */
void list_sort(struct list *list, int (*compare)(const void *left, const void *right));

/* Titles and at most so many rows, from that row on; nothing where there are none. */
void list_print(struct list *list, size_t first, size_t most);

/* Of rows that are not known: the titles, unless it is JSON; and a row as it comes. */
void list_begin(const struct list *list);
void list_print_row(const struct list *list, const struct list_row *row);

/* A location, with as much of the path as there is room for. */
void list_fill_where(struct table_cell *cell, const json_t *location, unsigned columns);

/* ---- the frame: how many ids the scan saw, and whether it missed some ---- */

/* All zero: of no document; what a document does not say is 0. */
struct frame {
    long long counts[ID_STATE_COUNT]; /* of ids */
    long long ids;                    /* in all states */
    long long total;                  /* items that match, also those that are not in the document */
    long long unreadable;             /* rings that ripd found and cannot read */
    long long late_ms;                /* of the oldest scan that is older than three intervals; 0: none is */
    size_t answered;                  /* hosts */
};

/* Adds what a document says; NULL: nothing. */
void frame_add(struct frame *frame, const json_t *document);
/* Of all hosts. */
struct frame frame_of(void);

/* Messages for each host whose answer has less than there is: list names its member with the ids. */
void frame_warn(const char *list);

#endif
