/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - see list.h. */
#include "cli/list.h"

#include <string.h>

#include "cli/item.h"

void list_init(struct list *list, const struct hosts *hosts, bool json, const struct table_column *columns,
               size_t count, bool rows_known)
{
    const size_t first = hosts_named(hosts) ? 1 : 0;

    *list = (struct list){.hosts = hosts, .json = json, .columns = {{.title = "HOST", .least = 8, .most = 30}}};
    memcpy(list->columns + first, columns, count * sizeof(*columns));
    table_init(&list->table, list->columns, count + first, rows_known);
}

static void fill_row(const struct list *list, struct table_cell *cells, const struct list_row *row)
{
    const struct table_column *column = list->columns, *end = column + list->table.count;

    if (hosts_named(list->hosts)) {
        table_cell_format(cells++, "%s", hosts_name(list->hosts, row->host));
        column++;
    }
    for (; column < end; column++, cells++)
        if (column->fill_row != NULL)
            column->fill_row(cells, row, &list->table);
        else if (column->fill != NULL)
            column->fill(cells, column->key != NULL ? json_object_get(row->item, column->key) : row->item);
        else
            table_cell_value(cells, row->item, column->key);
}

void list_begin(struct list *list)
{
    table_settle(&list->table);
    if (list->json)
        return;
    table_write(&list->table, NULL, stdout);
    putchar('\n');
}

void list_print_row(const struct list *list, const struct list_row *row)
{
    struct table_cell cells[TABLE_COLUMNS_MAX];

    if (list->json) {
        hosts_print_json(list->hosts, row->host, row->item);
        return;
    }
    fill_row(list, cells, row);
    table_write(&list->table, cells, stdout);
    putchar('\n');
}

void list_print(struct list *list, const void *rows, size_t row_bytes, size_t count)
{
    struct table_cell cells[TABLE_COLUMNS_MAX];

    for (size_t i = 0; !list->json && i < count; i++) {
        fill_row(list, cells, (const void *)((const char *)rows + i * row_bytes));
        table_fit(&list->table, cells);
    }
    if (count != 0)
        list_begin(list);
    for (size_t i = 0; i < count; i++)
        list_print_row(list, (const void *)((const char *)rows + i * row_bytes));
}

void list_fill_where(struct table_cell *cell, const struct list_row *row, const struct table *table)
{
    item_fill_where(cell, json_object_get(row->item, "location"), text_path_parts(&table->style));
}

void list_fill_duration(struct table_cell *cell, const json_t *ms)
{
    item_fill_duration(cell, json_is_integer(ms) ? json_integer_value(ms) : ITEM_UNKNOWN);
}
