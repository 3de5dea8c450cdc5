/* SPDX-License-Identifier: Apache-2.0 */
/* events_table.c - events as a table for people. Prints on standard output. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/events.h"

#define CELL_BYTES 1024u
#define WHERE_COLUMNS_MIN 12u

enum column { COLUMN_TIME, COLUMN_EVENT, COLUMN_RING, COLUMN_ID, COLUMN_NAME, COLUMN_CAUSE, COLUMN_FOR, COLUMN_WHERE };

/* least: without knowing what comes. most: on a terminal. */
static const struct {
    const char *title;
    unsigned least;
    unsigned most;
    bool right;
} columns[EVENTS_COLUMNS] = {
    [COLUMN_TIME] = {"TIME", 20, 24, false}, [COLUMN_EVENT] = {"EVENT", 5, 12, false},
    [COLUMN_RING] = {"RING", 16, 24, false}, [COLUMN_ID] = {"ID", 8, 10, true},
    [COLUMN_NAME] = {"NAME", 16, 24, false}, [COLUMN_CAUSE] = {"CAUSE", 10, 15, false},
    [COLUMN_FOR] = {"FOR", 7, 10, true},     [COLUMN_WHERE] = {"WHERE", 0, TEXT_ANY_COLUMNS, false},
};

struct cell {
    const char *text; /* of the event, or made */
    size_t bytes;
    char made[CELL_BYTES];
};

/* A string of an object, whatever is in it; "-" for everything else. */
static void set_string(struct cell *cell, const json_t *value)
{
    cell->text = json_is_string(value) ? json_string_value(value) : "-";
    cell->bytes = json_is_string(value) ? json_string_length(value) : 1;
}

static void set_made(struct cell *cell)
{
    cell->text = cell->made;
    cell->bytes = strlen(cell->made);
}

/* "2026-11-20T09:41:07.120Z" without the fraction. */
static void set_time(struct cell *cell, const json_t *value)
{
    const char *text = json_string_value(value);

    set_string(cell, value);
    if (text == NULL || strlen(text) != 24 || text[19] != '.')
        return;
    snprintf(cell->made, sizeof(cell->made), "%.19sZ", text);
    set_made(cell);
}

/* "end", or "end:gone" where it did not just move on. */
static void set_event(struct cell *cell, const json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "kind"));
    const char *reason = json_string_value(json_object_get(event, "reason"));

    set_string(cell, json_object_get(event, "kind"));
    if (kind == NULL || reason == NULL || strcmp(reason, "moved") == 0)
        return;
    snprintf(cell->made, sizeof(cell->made), "%s:%s", kind, reason);
    set_made(cell);
}

static void set_id(struct cell *cell, const json_t *value)
{
    if (!json_is_integer(value)) {
        set_string(cell, NULL);
        return;
    }
    snprintf(cell->made, sizeof(cell->made), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    set_made(cell);
}

static void set_for(struct cell *cell, const json_t *event)
{
    const json_t *lasted = json_object_get(event, "lasted_ms");
    const json_t *value = json_is_integer(lasted) ? lasted : json_object_get(event, "frozen_for_ms");
    json_int_t ms = json_integer_value(value), seconds = ms / 1000;

    if (!json_is_integer(value) || ms < 0) {
        set_string(cell, NULL);
        return;
    }
    if (seconds < 60)
        snprintf(cell->made, sizeof(cell->made), "%" PRId64 ".%" PRId64 "s", (int64_t)seconds,
                 (int64_t)(ms % 1000 / 100));
    else if (seconds < 3600)
        snprintf(cell->made, sizeof(cell->made), "%" PRId64 "m%02" PRId64 "s", (int64_t)(seconds / 60),
                 (int64_t)(seconds % 60));
    else
        snprintf(cell->made, sizeof(cell->made), "%" PRId64 "h%02" PRId64 "m", (int64_t)(seconds / 3600),
                 (int64_t)(seconds / 60 % 60));
    set_made(cell);
}

static void set_where(struct cell *cell, const json_t *location)
{
    const char *function = json_string_value(json_object_get(location, "function"));
    const char *file = json_string_value(json_object_get(location, "file"));
    const char *module = json_string_value(json_object_get(location, "module"));
    const char *offset = json_string_value(json_object_get(location, "offset"));
    const json_t *line = json_object_get(location, "line");

    if (function != NULL && file != NULL && json_is_integer(line))
        snprintf(cell->made, sizeof(cell->made), "%s, %s:%" JSON_INTEGER_FORMAT, function, file,
                 json_integer_value(line));
    else if (function != NULL)
        snprintf(cell->made, sizeof(cell->made), "%s (%s)", function, module != NULL ? module : "-");
    else if (module != NULL && offset != NULL)
        snprintf(cell->made, sizeof(cell->made), "%s+%s", module, offset);
    else
        snprintf(cell->made, sizeof(cell->made), "-");
    set_made(cell);
}

static void fill(const json_t *event, struct cell cells[EVENTS_COLUMNS])
{
    set_time(&cells[COLUMN_TIME], json_object_get(event, "at"));
    set_event(&cells[COLUMN_EVENT], event);
    set_string(&cells[COLUMN_RING], json_object_get(event, "ring"));
    set_id(&cells[COLUMN_ID], json_object_get(event, "id"));
    set_string(&cells[COLUMN_NAME], json_object_get(event, "name"));
    set_string(&cells[COLUMN_CAUSE], json_object_get(event, "cause"));
    set_for(&cells[COLUMN_FOR], event);
    set_where(&cells[COLUMN_WHERE], json_object_get(event, "location"));
}

void events_table_init(struct events_table *table, const json_t *events)
{
    bool terminal;
    size_t index;
    json_t *event;

    table->style = text_style_of_output();
    terminal = table->style.columns != TEXT_ANY_COLUMNS;
    for (int i = 0; i < EVENTS_COLUMNS; i++)
        table->widths[i] = events == NULL ? columns[i].least : (unsigned)strlen(columns[i].title);
    json_array_foreach((json_t *)(uintptr_t)events, index, event)
    {
        struct cell cells[EVENTS_COLUMNS];

        fill(event, cells);
        for (int i = 0; i < EVENTS_COLUMNS; i++) {
            char text[CELL_BYTES * 2];
            unsigned most = terminal ? columns[i].most : TEXT_ANY_COLUMNS;
            unsigned width = text_fit(&table->style, cells[i].text, cells[i].bytes, most, text, sizeof(text));

            if (width > table->widths[i])
                table->widths[i] = width;
        }
    }
}

/* Columns left for the last one, which is never cut to nothing. */
static unsigned rest(const struct events_table *table)
{
    unsigned taken = 0;

    for (int i = 0; i < COLUMN_WHERE; i++)
        taken += table->widths[i] + 2;
    return table->style.columns > taken + WHERE_COLUMNS_MIN ? table->style.columns - taken : WHERE_COLUMNS_MIN;
}

/* What begins is red, what ends green. */
static const char *colour_of(const struct events_table *table, int column, const char *text)
{
    if (!table->style.colours || column != COLUMN_EVENT)
        return "";
    return strncmp(text, "begin", 5) == 0 ? "\x1b[31m" : strncmp(text, "end", 3) == 0 ? "\x1b[32m" : "";
}

static void print_cells(const struct events_table *table, const struct cell cells[EVENTS_COLUMNS])
{
    bool terminal = table->style.columns != TEXT_ANY_COLUMNS;

    for (int i = 0; i < EVENTS_COLUMNS; i++) {
        char text[CELL_BYTES * 2];
        unsigned most = !terminal ? TEXT_ANY_COLUMNS : i == COLUMN_WHERE ? rest(table) : table->widths[i];
        unsigned width = text_fit(&table->style, cells[i].text, cells[i].bytes, most, text, sizeof(text));
        unsigned padding = width < table->widths[i] && i != COLUMN_WHERE ? table->widths[i] - width : 0;
        const char *colour = colour_of(table, i, text);

        printf("%*s%s%s%s%*s", columns[i].right ? (int)padding : 0, "", colour, text, *colour != '\0' ? "\x1b[0m" : "",
               columns[i].right ? 0 : (int)padding, "");
        fputs(i == COLUMN_WHERE ? "\n" : "  ", stdout);
    }
}

void events_table_head(const struct events_table *table)
{
    struct cell cells[EVENTS_COLUMNS];

    for (int i = 0; i < EVENTS_COLUMNS; i++) {
        cells[i].text = columns[i].title;
        cells[i].bytes = strlen(columns[i].title);
    }
    print_cells(table, cells);
}

void events_table_row(const struct events_table *table, const json_t *event)
{
    struct cell cells[EVENTS_COLUMNS];

    fill(event, cells);
    print_cells(table, cells);
}
