/* SPDX-License-Identifier: Apache-2.0 */
/* event_table.c - see event_table.h. */
#include "cli/event_table.h"

#include <string.h>

#include "cli/item.h"
#include "util/array.h"

/* "2026-11-20T09:41:07.120Z" without the fraction; on a terminal "11-20 09:41:07Z". */
static void fill_time(struct table_cell *cell, const struct list_row *row, const struct table *table)
{
    const char *text = item_text(row->item, "at");

    if (text == NULL || strlen(text) != 24 || text[19] != '.')
        table_cell_value(cell, row->item, "at");
    else if (table->style.columns != TEXT_ANY_COLUMNS)
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

void event_table_init(struct list *list, const struct hosts *hosts, bool json, bool rows_known)
{
    static const struct table_column columns[] = {
        {"TIME", 15, 20, .fill_row = fill_time},
        {"EVENT", 5, 12, .fill = fill_event},
        {"RING", 8, 24, .key = "ring"},
        {"ID", 4, 10, true, .key = "id"},
        {"NAME", 8, 24, .key = "name"},
        {"CAUSE", 8, 15, .key = "cause"},
        {"FOR", 6, 8, true, .fill = fill_duration},
        {"WHERE", 0, TEXT_ANY_COLUMNS, .fill_row = list_fill_where},
    };

    list_init(list, hosts, json, columns, ARRAY_COUNT(columns), rows_known);
}
