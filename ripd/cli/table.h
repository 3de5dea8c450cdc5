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

struct table_cell;

/* A column of a list, or a field of a report: what it is called, and how its text is made of an item. */
struct table_column {
    const char *title;
    unsigned least;  /* width where nothing is cut and the rows are not known in advance, and when there is no room */
    unsigned most;   /* width on a terminal */
    bool right;      /* aligned to the right */
    const char *key; /* table_member() of the item */
    void (*fill)(struct table_cell *cell, const json_t *value); /* of that; NULL: table_cell_value() */
    /* Instead, where it depends on how wide the terminal is. */
    void (*fill_columns)(struct table_cell *cell, const json_t *value, unsigned columns);
};

/* Empty: not known. A table shows it as "-", a report leaves it out. */
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

/* Widths of a table whose rows are not known. */
void table_init(struct table *table, const struct table_column *columns, size_t count);
/* Widths of rows that are known: table_begin_fit(), table_fit() with each. */
void table_begin_fit(struct table *table);
void table_fit(struct table *table, const struct table_cell *cells);
/* Comes before the first line is printed. */
void table_settle(struct table *table);
/* A line without its end; cells NULL: the titles. */
void table_write(const struct table *table, const struct table_cell *cells, FILE *stream);

/* A member of an object, "a.b" of such a member; NULL: the object itself. */
const json_t *table_member(const json_t *object, const char *path);
/* Adds to a member that is a number; there need be none. */
void table_count(json_t *object, const char *key, json_int_t number);
/* The cell that a column has of an item. columns: of the terminal. */
void table_cell_of(struct table_cell *cell, const struct table_column *column, const json_t *item, unsigned columns);
/* A string, with every byte in it, or a whole number; empty for any other. */
void table_cell_value(struct table_cell *cell, const json_t *value);
void table_cell_clear(struct table_cell *cell);
__attribute__((format(printf, 2, 3))) void table_cell_format(struct table_cell *cell, const char *format, ...);
/* Adds to a text that was cleared or formatted. */
__attribute__((format(printf, 2, 3))) void table_cell_add(struct table_cell *cell, const char *format, ...);

/* As JSON of ripd is: what acts on a terminal is escaped. flags: more of jansson's. */
void table_write_json(FILE *file, const json_t *value, size_t flags);
/* The object on a line. */
void table_print_json(const json_t *object);

#endif
