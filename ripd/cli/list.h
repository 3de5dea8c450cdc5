/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - list documents of one or several hosts: their items as a table, or as JSON with one object per line; and
 * their frame. Prints on standard output.
 *
 * The contents of a row are in its item: what a command computes is added to the item as members.
 */
#ifndef RIP_CLI_LIST_H
#define RIP_CLI_LIST_H

#include "cli/hosts.h"
#include "cli/table.h"
#include "detect/state.h"

struct list_row {
    json_t *item; /* owns a reference, for rows in a list */
    size_t host;
};

struct list {
    bool of_hosts;
    bool json;
    struct table table;
    struct table_column columns[TABLE_COLUMNS_MAX]; /* with HOST if there are several hosts */
    struct list_row *rows;
    size_t count;
    size_t capacity;
};

void list_init(struct list *list, bool of_hosts, bool json, const struct table_column *columns, size_t count);
void list_done(struct list *list);

/* Takes ownership of a reference. */
void list_add(struct list *list, size_t host, json_t *item);

/* Adds all items of that list of all documents. */
void list_add_each(struct list *list, const char *member);

/* Sorts by compare, which takes two struct list_row. */
void list_sort(struct list *list, int (*compare)(const void *left, const void *right));

/* Prints the titles and at most `most` rows from row `first` on; nothing if there are none. */
void list_print(struct list *list, size_t first, size_t most);

/* For rows that are not known in advance: prints the titles, unless the output is JSON, and then one row at a time. */
void list_begin(const struct list *list);
void list_print_row(const struct list *list, const struct list_row *row);

/* Writes a location, with as much of the path as fits. */
void list_fill_where(struct table_cell *cell, const json_t *location, unsigned columns);

/* ---- the frame: how many ids the scan saw, and what it missed ---- */

/* All zero without a document; a value that a document does not have is 0. */
struct frame {
    long long counts[ID_STATE_COUNT]; /* of ids */
    long long ids;                    /* in all states */
    long long total;                  /* items that match, including those that are not in the document */
    long long unreadable;             /* rings that ripd found but cannot read */
    long long late_ms;                /* age of the oldest scan if older than three intervals; 0: none is */
    size_t answered;                  /* number of hosts that answered */
};

/* Adds the values of a document; NULL: nothing. */
void frame_add(struct frame *frame, const json_t *document);
/* Returns the frame of all hosts. */
struct frame frame_of(void);

/* Prints a message for each host whose answer is incomplete. list is the member with the ids. */
void frame_warn(const char *list);

#endif
