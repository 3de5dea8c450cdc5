/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - widths of columns, and rows. Prints on standard output. */
#include "cli/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LAST_COLUMNS_MIN 12u
#define SEPARATOR_COLUMNS 2u
#define SHOWN_BYTES (TABLE_CELL_BYTES * 2)

static bool on_terminal(const struct table *table)
{
    return table->style.columns != TEXT_ANY_COLUMNS;
}

void table_init(struct table *table, const struct table_column *columns, size_t count, bool rows_known)
{
    *table = (struct table){.style = text_style_of_output(), .columns = columns, .count = count};
    for (size_t i = 0; i < count; i++)
        table->widths[i] = rows_known ? (unsigned)strlen(columns[i].title) : columns[i].least;
}

void table_fit(struct table *table, const struct table_cell *cells)
{
    for (size_t i = 0; i < table->count; i++) {
        char text[SHOWN_BYTES];
        unsigned most = on_terminal(table) ? table->columns[i].most : TEXT_ANY_COLUMNS;
        unsigned width = text_fit(&table->style, cells[i].text, cells[i].bytes, most, text, sizeof(text));

        if (width > table->widths[i])
            table->widths[i] = width;
    }
}

/* Columns of the terminal that are left for the last column of the table. */
static unsigned width_of_last(const struct table *table)
{
    unsigned taken = 0;

    for (size_t i = 0; i + 1 < table->count; i++)
        taken += table->widths[i] + SEPARATOR_COLUMNS;
    return table->style.columns > taken + LAST_COLUMNS_MIN ? table->style.columns - taken : LAST_COLUMNS_MIN;
}

void table_print(const struct table *table, const struct table_cell *cells)
{
    for (size_t i = 0; i < table->count; i++) {
        char text[SHOWN_BYTES];
        bool last = i + 1 == table->count, right = table->columns[i].right;
        const char *colour = table->style.colours ? cells[i].colour : NULL;
        unsigned most = !on_terminal(table) ? TEXT_ANY_COLUMNS : last ? width_of_last(table) : table->widths[i];
        unsigned width = text_fit(&table->style, cells[i].text, cells[i].bytes, most, text, sizeof(text));
        int padding = width < table->widths[i] && !last ? (int)(table->widths[i] - width) : 0;

        printf("%*s%s%s%s%*s%s", right ? padding : 0, "", colour != NULL ? colour : "", text,
               colour != NULL ? "\x1b[0m" : "", right ? 0 : padding, "", last ? "\n" : "  ");
    }
}

void table_print_titles(const struct table *table)
{
    struct table_cell cells[TABLE_COLUMNS_MAX];

    for (size_t i = 0; i < table->count; i++)
        table_cell_format(&cells[i], "%s", table->columns[i].title);
    table_print(table, cells);
}

void table_cell_string(struct table_cell *cell, const json_t *value)
{
    if (!json_is_string(value)) {
        table_cell_format(cell, "-");
        return;
    }
    cell->text = json_string_value(value);
    cell->bytes = json_string_length(value);
    cell->colour = NULL;
}

void table_cell_format(struct table_cell *cell, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(cell->made, sizeof(cell->made), format, arguments);
    va_end(arguments);
    cell->text = cell->made;
    cell->bytes = strlen(cell->made);
    cell->colour = NULL;
}
