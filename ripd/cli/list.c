/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - see list.h. Writes warnings. */
#include "cli/list.h"

#include <stdlib.h>
#include <string.h>

#include "cli/item.h"
#include "util/array.h"

#define LATE_INTERVALS 3
#define WIDE_COLUMNS 120u /* a terminal of this width has room for two parts of a path */

void list_init(struct list *list, bool of_hosts, bool json, const struct table_column *columns, size_t count)
{
    const size_t first = of_hosts && hosts_named() ? 1 : 0;

    *list = (struct list){.of_hosts = first != 0, .json = json, .columns = {{.title = "HOST", .least = 8, .most = 30}}};
    memcpy(list->columns + first, columns, count * sizeof(*columns));
    table_init(&list->table, list->columns, count + first);
    table_settle(&list->table);
}

void list_done(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        json_decref(list->rows[i].item);
    free(list->rows);
}

void list_add(struct list *list, size_t host, json_t *item)
{
    if (!ARRAY_GROW(list->rows, list->count, list->capacity))
        cli_end_without_memory();
    list->rows[list->count++] = (struct list_row){item, host};
}

void list_add_each(struct list *list, const char *member)
{
    size_t i;
    json_t *item;

    for (size_t host = 0; host < hosts_count(); host++)
        json_array_foreach(json_object_get(hosts_document(host), member), i, item)
            list_add(list, host, json_incref(item));
}

void list_sort(struct list *list, int (*compare)(const void *left, const void *right))
{
    if (list->count > 1)
        qsort(list->rows, list->count, sizeof(*list->rows), compare);
}

static void fill_row(const struct list *list, struct table_cell *cells, const struct list_row *row)
{
    for (size_t i = 0; i < list->table.count; i++)
        if (i == 0 && list->of_hosts)
            table_cell_format(&cells[i], "%s", hosts_name(row->host));
        else
            table_cell_of(&cells[i], &list->columns[i], row->item, list->table.style.columns);
}

void list_begin(const struct list *list)
{
    if (list->json)
        return;
    table_write(&list->table, NULL, stdout);
    putchar('\n');
}

void list_print_row(const struct list *list, const struct list_row *row)
{
    struct table_cell cells[TABLE_COLUMNS_MAX];

    if (list->json) {
        hosts_print_json(row->host, row->item);
        return;
    }
    fill_row(list, cells, row);
    table_write(&list->table, cells, stdout);
    putchar('\n');
}

void list_print(struct list *list, size_t first, size_t most)
{
    const size_t end = most < list->count - first ? first + most : list->count;
    struct table_cell cells[TABLE_COLUMNS_MAX];

    table_begin_fit(&list->table);
    for (size_t i = first; !list->json && i < end; i++) {
        fill_row(list, cells, &list->rows[i]);
        table_fit(&list->table, cells);
    }
    table_settle(&list->table);
    if (first < end)
        list_begin(list);
    for (size_t i = first; i < end; i++)
        list_print_row(list, &list->rows[i]);
}

void list_fill_where(struct table_cell *cell, const json_t *location, unsigned columns)
{
    item_fill_path(cell, location, columns == TEXT_ANY_COLUMNS ? 0 : columns < WIDE_COLUMNS ? 1 : 2);
}

/* Returns 0 if not known. */
static long long count_of(const json_t *object, const char *key)
{
    long long count = item_number(object, key);

    return count != ITEM_UNKNOWN ? count : 0;
}

void frame_add(struct frame *frame, const json_t *document)
{
    const json_t *counts = json_object_get(document, "counts"), *scan = json_object_get(document, "scan");
    const long long age_ms = count_of(scan, "age_ms"), interval_ms = item_number(scan, "interval_ms");

    for (int state = 0; state < ID_STATE_COUNT; state++) {
        const long long count = count_of(counts, id_state_name((enum id_state)state));

        frame->counts[state] += count;
        frame->ids += count;
    }
    frame->total += count_of(document, "total");
    frame->unreadable += count_of(document, "unreadable_rings");
    if (interval_ms != ITEM_UNKNOWN && age_ms > LATE_INTERVALS * interval_ms && age_ms > frame->late_ms)
        frame->late_ms = age_ms;
    frame->answered += document != NULL;
}

struct frame frame_of(void)
{
    struct frame frame = {.answered = 0};

    for (size_t i = 0; i < hosts_count(); i++)
        frame_add(&frame, hosts_document(i));
    return frame;
}

void frame_warn(const char *list)
{
    for (size_t i = 0; i < hosts_count(); i++) {
        long long shown = (long long)json_array_size(json_object_get(hosts_document(i), list));
        const char *name = hosts_name(i);
        struct frame frame = {.answered = 0};

        frame_add(&frame, hosts_document(i));
        if (frame.unreadable != 0)
            cli_error("ripd on %s cannot read %lld ring%s: there may be more; `rip ls` names them", name,
                      frame.unreadable, frame.unreadable == 1 ? "" : "s");
        if (frame.late_ms != 0)
            cli_error("ripd on %s does not scan: this was %lld s ago", name, frame.late_ms / 1000);
        if (frame.total > shown)
            cli_error("ripd on %s has %lld items; only the first %lld were read", name, frame.total, shown);
    }
}
