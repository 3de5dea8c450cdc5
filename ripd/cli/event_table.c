/* SPDX-License-Identifier: Apache-2.0 */
/* event_table.c - see event_table.h. */
#include "cli/event_table.h"

#include <string.h>

#include "cli/item.h"
#include "util/array.h"

enum column { TIME, EVENT, RING, ID, NAME, CAUSE, FOR, WHERE };

/* HOST is left out where there is one host. */
static const struct table_column columns[] = {
    {"HOST", 8, 30, false},  {"TIME", 15, 20, false}, {"EVENT", 5, 12, false},
    {"RING", 8, 24, false},  {"ID", 4, 10, true},     {"NAME", 8, 24, false},
    {"CAUSE", 8, 15, false}, {"FOR", 6, 8, true},     {"WHERE", 0, TEXT_ANY_COLUMNS, false},
};
#define COLUMN_COUNT (ARRAY_COUNT(columns))

/* "2026-11-20T09:41:07.120Z" without the fraction; brief: "11-20 09:41:07Z". */
static void fill_time(struct table_cell *cell, const json_t *event, bool brief)
{
    const char *text = item_text(event, "at");

    if (text == NULL || strlen(text) != 24 || text[19] != '.')
        table_cell_value(cell, event, "at");
    else if (brief)
        table_cell_format(cell, "%.5s %.8sZ", text + 5, text + 11);
    else
        table_cell_format(cell, "%.19sZ", text);
}

/* "begin", "end", or "end:gone" if the id did not just move on. */
static void fill_event(struct table_cell *cell, const json_t *event)
{
    const char *kind = item_text(event, "kind"), *reason = item_text(event, "reason");

    if (kind == NULL || reason == NULL || strcmp(reason, "moved") == 0)
        table_cell_value(cell, event, "kind");
    else
        table_cell_format(cell, "%s:%s", kind, reason);
    cell->colour = item_is(event, "kind", "begin") ? TABLE_RED : item_is(event, "kind", "end") ? TABLE_GREEN : NULL;
}

static void fill_duration(struct table_cell *cell, const json_t *event)
{
    long long lasted_ms = item_number(event, "lasted_ms");

    item_fill_duration(cell, lasted_ms != ITEM_UNKNOWN ? lasted_ms : item_number(event, "frozen_for_ms"));
}

static void fill_row(const struct event_table *table, struct table_cell cells[COLUMN_COUNT], size_t host,
                     const json_t *event)
{
    const bool brief = table->table.style.columns != TEXT_ANY_COLUMNS;

    if (hosts_named(table->hosts))
        table_cell_format(cells++, "%s", hosts_name(table->hosts, host));
    fill_time(&cells[TIME], event, brief);
    fill_event(&cells[EVENT], event);
    table_cell_value(&cells[RING], event, "ring");
    table_cell_value(&cells[ID], event, "id");
    table_cell_value(&cells[NAME], event, "name");
    table_cell_value(&cells[CAUSE], event, "cause");
    fill_duration(&cells[FOR], event);
    item_fill_where(&cells[WHERE], json_object_get(event, "location"), text_path_parts(&table->table.style));
}

void event_table_init(struct event_table *table, const struct hosts *hosts, bool json, bool rows_known)
{
    const bool skip = !hosts_named(hosts);

    *table = (struct event_table){.hosts = hosts, .json = json};
    table_init(&table->table, columns + skip, COLUMN_COUNT - skip, rows_known);
}

void event_table_fit(struct event_table *table, size_t host, const json_t *event)
{
    struct table_cell cells[COLUMN_COUNT];

    fill_row(table, cells, host, event);
    table_fit(&table->table, cells);
}

void event_table_begin(struct event_table *table)
{
    table_settle(&table->table);
    if (!table->json)
        table_print_titles(&table->table);
}

void event_table_print(const struct event_table *table, size_t host, const json_t *event)
{
    struct table_cell cells[COLUMN_COUNT];

    if (table->json) {
        hosts_print_json(table->hosts, host, event);
        return;
    }
    fill_row(table, cells, host, event);
    table_print(&table->table, cells);
}
