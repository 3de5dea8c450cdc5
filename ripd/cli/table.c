/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - widths of columns, and rows. Prints on standard output. */
#include "cli/table.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/text.h"

#define LAST_COLUMNS_MIN 12u
#define SHRUNK_COLUMNS_MIN 4u
#define SEPARATOR_COLUMNS 2u
#define SHOWN_BYTES (TABLE_CELL_BYTES * 2)

static bool on_terminal(const struct table *table)
{
    return table->style.columns != TEXT_ANY_COLUMNS;
}

void table_init(struct table *table, const struct table_column *columns, size_t count)
{
    *table = (struct table){.style = text_style_of_output(), .columns = columns, .count = count};
    for (size_t i = 0; i < count; i++)
        table->widths[i] = on_terminal(table) ? columns[i].most : columns[i].least;
}

void table_begin_fit(struct table *table)
{
    for (size_t i = 0; i < table->count; i++)
        table->widths[i] = (unsigned)strlen(table->columns[i].title);
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

void table_settle(struct table *table)
{
    size_t last = table->count - 1;

    if (!on_terminal(table))
        return;
    for (;;) {
        unsigned taken = LAST_COLUMNS_MIN + table->indent;
        size_t widest = last;

        for (size_t i = 0; i < last; i++) {
            bool can_shrink = table->widths[i] > SHRUNK_COLUMNS_MIN && table->widths[i] > table->columns[i].least;

            taken += table->widths[i] + SEPARATOR_COLUMNS;
            if (can_shrink && (widest == last || table->widths[i] > table->widths[widest]))
                widest = i;
        }
        if (taken <= table->style.columns || widest == last)
            return;
        table->widths[widest]--;
    }
}

/* Returns the maximum width of a cell: that of its column, or the rest of the line. */
static unsigned cell_width_max(const struct table *table, size_t column, unsigned left)
{
    bool last = column + 1 == table->count;

    if (!on_terminal(table))
        return TEXT_ANY_COLUMNS;
    return last || table->widths[column] > left ? left : table->widths[column];
}

/*
 * Like text_fit(). In "NAME[PID]" only the name is cut, because the user needs the pid for the next command. text has
 * room for SHOWN_BYTES.
 */
static unsigned fit_cell(const struct table *table, const struct table_cell *cell, unsigned most, char *text)
{
    const char *number = memrchr(cell->text, '[', cell->bytes);
    const size_t name_bytes = number != NULL ? (size_t)(number - cell->text) : 0,
                 number_bytes = cell->bytes - name_bytes;
    unsigned width;

    if (cell->bytes == 0)
        return text_fit(&table->style, "-", 1, most, text, SHOWN_BYTES);
    width = text_fit(&table->style, cell->text, cell->bytes, TEXT_ANY_COLUMNS, text, SHOWN_BYTES);
    if (width <= most)
        return width;
    if (name_bytes == 0 || number_bytes + 2 > most || number[strspn(number + 1, "0123456789") + 1] != ']' ||
        cell->text[cell->bytes - 1] != ']')
        return text_fit(&table->style, cell->text, cell->bytes, most, text, SHOWN_BYTES);
    width = text_fit(&table->style, cell->text, name_bytes, most - (unsigned)number_bytes, text, SHOWN_BYTES);
    snprintf(text + strlen(text), SHOWN_BYTES - strlen(text), "%.*s", (int)number_bytes, number);
    return width + (unsigned)number_bytes;
}

void table_write(const struct table *table, const struct table_cell *cells, FILE *stream)
{
    unsigned indent = table->indent < table->style.columns ? table->indent : 0;
    unsigned left = table->style.columns - indent;
    struct table_cell titles[TABLE_COLUMNS_MAX];

    for (size_t i = 0; cells == NULL && i < table->count; i++)
        table_cell_format(&titles[i], "%s", table->columns[i].title);
    if (cells == NULL)
        cells = titles;
    fprintf(stream, "%*s", (int)indent, "");
    for (size_t i = 0; i < table->count && left > 0; i++) {
        char text[SHOWN_BYTES];
        bool last = i + 1 == table->count, right = table->columns[i].right;
        const char *colour = table->style.colours ? cells[i].colour : NULL;
        unsigned most = cell_width_max(table, i, left);
        unsigned width = fit_cell(table, &cells[i], most, text);
        unsigned room = table->widths[i] < left ? table->widths[i] : left;
        unsigned padding = width < room && !last ? room - width : 0;
        unsigned gap = last ? 0 : left - width - padding < SEPARATOR_COLUMNS ? 0 : SEPARATOR_COLUMNS;

        fprintf(stream, "%*s%s%s%s%*s%*s", right ? (int)padding : 0, "", colour != NULL ? colour : "", text,
                colour != NULL ? "\x1b[0m" : "", right ? 0 : (int)padding, "", (int)gap, "");
        left = gap == 0 ? 0 : left - width - padding - gap;
    }
}

const json_t *table_member(const json_t *object, const char *path)
{
    const char *dot;

    if (path == NULL)
        return object;
    for (; (dot = strchr(path, '.')) != NULL; path = dot + 1)
        object = json_object_getn(object, path, (size_t)(dot - path));
    return json_object_get(object, path);
}

void table_count(json_t *object, const char *key, json_int_t number)
{
    number += json_integer_value(json_object_get(object, key));
    json_object_set_new_nocheck(object, key, json_integer(number));
}

void table_cell_of(struct table_cell *cell, const struct table_column *column, const json_t *item, unsigned columns)
{
    const json_t *value = table_member(item, column->key);

    if (column->fill_columns != NULL)
        column->fill_columns(cell, value, columns);
    else
        (column->fill != NULL ? column->fill : table_cell_value)(cell, value);
}

void table_cell_value(struct table_cell *cell, const json_t *value)
{
    table_cell_clear(cell);
    if (json_is_integer(value))
        table_cell_add(cell, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (!json_is_string(value))
        return;
    cell->text = json_string_value(value);
    cell->bytes = json_string_length(value);
}

void table_cell_clear(struct table_cell *cell)
{
    cell->text = cell->made;
    cell->made[0] = '\0';
    cell->bytes = 0;
    cell->colour = NULL;
}

/* Text that does not fit is dropped. */
__attribute__((format(printf, 2, 0))) static void add(struct table_cell *cell, const char *format, va_list arguments)
{
    vsnprintf(cell->made + cell->bytes, sizeof(cell->made) - cell->bytes, format, arguments);
    cell->bytes += strlen(cell->made + cell->bytes);
}

void table_cell_format(struct table_cell *cell, const char *format, ...)
{
    va_list arguments;

    table_cell_clear(cell);
    va_start(arguments, format);
    add(cell, format, arguments);
    va_end(arguments);
}

void table_cell_add(struct table_cell *cell, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    add(cell, format, arguments);
    va_end(arguments);
}

/* Callback of jansson, which passes complete characters and escapes only those below the blank. */
static int write_escaped(const char *bytes, size_t count, void *context)
{
    FILE *file = context;
    uint32_t code;
    size_t length;

    for (size_t i = 0; i < count; i += length) {
        length = text_character(bytes + i, count - i, &code);
        if (text_is_control(code))
            fprintf(file, "\\u%04" PRIx32, code);
        else
            fwrite(bytes + i, 1, length, file);
    }
    return 0;
}

void table_write_json(FILE *file, const json_t *value, size_t flags)
{
    json_dump_callback(value, write_escaped, file, JSON_COMPACT | flags);
}

void table_print_json(const json_t *object)
{
    /* Invisible characters are harmless in a file, but misleading on a terminal. */
    table_write_json(stdout, object, isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0);
    putchar('\n');
}
