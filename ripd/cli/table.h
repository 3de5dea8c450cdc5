/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - rows of text in columns on standard output; and the same as JSON, one object per line.
 *
 * Guarantees
 *   A. On a terminal no line is wider than the terminal: columns are cut, the last one first and the widest next.
 *      Otherwise nothing is cut.
 *   B. The contents of a cell are harmless on a terminal (text.h).
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

/* A column of a list, or a field of a report: its title, and how its text is made from an item. */
struct table_column {
    const char *title;
    unsigned least;  /* width if nothing is cut and the rows are not known in advance, and if there is no room */
    unsigned most;   /* width on a terminal */
    bool right;      /* right-aligned */
    const char *key; /* table_member() of the item */
    void (*fill)(struct table_cell *cell, const json_t *value); /* converts that member; NULL: table_cell_value() */
    /* Instead of fill, if the text depends on the width of the terminal. */
    void (*fill_columns)(struct table_cell *cell, const json_t *value, unsigned columns);
};

/* An empty cell is not known: a table shows "-", a report omits it. */
struct table_cell {
    const char *text; /* points into the row's document, or to made; terminated, may contain NUL bytes */
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

/* Sets the widths of a table whose rows are not known in advance. */
void table_init(struct table *table, const struct table_column *columns, size_t count);
/* Sets the widths from known rows: table_begin_fit(), then table_fit() with each row. */
void table_begin_fit(struct table *table);
void table_fit(struct table *table, const struct table_cell *cells);
/* Call before the first line is printed. */
void table_settle(struct table *table);
/* Writes a line without its newline; cells NULL: the titles. */
void table_write(const struct table *table, const struct table_cell *cells, FILE *stream);

/* Returns a member of an object, or "a.b" of such a member; path NULL: the object itself. */
const json_t *table_member(const json_t *object, const char *path);
/* Adds to a member that is a number; it need not exist. */
void table_count(json_t *object, const char *key, json_int_t number);
/* Makes the cell of a column for an item. columns is the width of the terminal. */
void table_cell_of(struct table_cell *cell, const struct table_column *column, const json_t *item, unsigned columns);
/* A string with all its bytes, or a whole number; empty for any other value. */
void table_cell_value(struct table_cell *cell, const json_t *value);
void table_cell_clear(struct table_cell *cell);
__attribute__((format(printf, 2, 3))) void table_cell_format(struct table_cell *cell, const char *format, ...);
/* Appends to a text that was cleared or formatted. */
__attribute__((format(printf, 2, 3))) void table_cell_add(struct table_cell *cell, const char *format, ...);

/* Writes JSON as ripd does: characters that act on a terminal are escaped. flags: additional flags of jansson. */
void table_write_json(FILE *file, const json_t *value, size_t flags);
/* Prints the object on a line. */
void table_print_json(const json_t *object);

#endif
