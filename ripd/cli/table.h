/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - rows of text in columns, on standard output; and the same as JSON, an object a line.
 *
 * Guarantees
 *   A. On a terminal no line is wider than the terminal: columns are cut, the last one first and the widest next.
 *      Elsewhere nothing is cut.
 *   B. What a cell holds is harmless on a terminal (text.h).
 */
#ifndef RIP_CLI_TABLE_H
#define RIP_CLI_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/text.h"

#define TABLE_COLUMNS_MAX 12u
#define TABLE_CELL_BYTES 1024u

struct table;
struct table_cell;
struct list_row;

struct table_column {
    const char *title;
    unsigned least; /* width where nothing is cut and the rows are not known in advance, and when there is no room */
    unsigned most;  /* width on a terminal */
    bool right;     /* aligned to the right */
    /* In a list (list.h): what the cell is made from. */
    const char *key;                                            /* member of the item; NULL: the item itself */
    void (*fill)(struct table_cell *cell, const json_t *value); /* of that; NULL: table_cell_value() */
    void (*fill_row)(struct table_cell *cell, const struct list_row *row, const struct table *table); /* instead */
};

struct table_cell {
    const char *text; /* points into the row's document, or to made; terminated, and may hold NUL bytes */
    size_t bytes;
    const char *colour; /* NULL, or one of those below */
    char made[TABLE_CELL_BYTES];
};
#define TABLE_RED "\x1b[31m"
#define TABLE_GREEN "\x1b[32m"
#define TABLE_YELLOW "\x1b[33m"

struct table {
    struct text_style style;
    const struct table_column *columns;
    size_t count;
    unsigned widths[TABLE_COLUMNS_MAX];
    unsigned indent; /* blanks before each line */
};

/* table_settle() comes before the first line is printed; rows_known: and table_fit() with each
 * row before that. */
void table_init(struct table *table, const struct table_column *columns, size_t count, bool rows_known);
void table_fit(struct table *table, const struct table_cell *cells);
void table_settle(struct table *table);
/* A line without its end; cells NULL: the titles. */
void table_write(const struct table *table, const struct table_cell *cells, FILE *stream);

/* A member that is a string, with every byte in it, or a whole number; "-" for any other. */
void table_cell_value(struct table_cell *cell, const json_t *object, const char *key);
__attribute__((format(printf, 2, 3))) void table_cell_format(struct table_cell *cell, const char *format, ...);

/* As JSON of ripd is: what acts on a terminal is escaped. flags: more of jansson's. */
void table_write_json(FILE *file, const json_t *value, size_t flags);
/* The object on a line. */
void table_print_json(const json_t *object);

#endif
