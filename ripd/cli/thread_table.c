/* SPDX-License-Identifier: Apache-2.0 */
/* thread_table.c - see thread_table.h. Prints on standard output. */
#include "cli/thread_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/item.h"
#include "cli/list.h"
#include "cli/table.h"
#include "util/array.h"

#define FOLDED_MIN 3u /* alike */
#define KEY_BYTES (3u * TABLE_CELL_BYTES)

struct thread {
    struct list_row row;
    int rank;
    long long age_ms;
    size_t alike; /* other threads in this line */
};

/* What is looked for comes first, what moves last. */
static int rank_of(const json_t *item)
{
    static const char *const states[] = {"stalled", "not moving", "stopped", "dead", "exited", "idle", "running"};
    int rank = 0;

    while (rank < (int)(ARRAY_COUNT(states)) && !item_is(item, "state", states[rank]))
        rank++;
    if (rank != 0)
        return rank + 2;
    if (item_is_deadlocked(item))
        return 0;
    return json_array_size(json_object_get(item, "waits_for")) == 0 ? 1 : 2;
}

static int compare_threads(const void *left, const void *right)
{
    const struct thread *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank - b->rank;
    return (a->age_ms < b->age_ms) - (a->age_ms > b->age_ms);
}

/* Those with the same key do the same at one place. */
static void make_key(char key[KEY_BYTES], const json_t *item)
{
    struct table_cell cause, where, on;

    item_fill_cause(&cause, item);
    item_fill_where(&where, json_object_get(item, "location"), 0);
    item_fill_on(&on, item);
    snprintf(key, KEY_BYTES, "%s\n%s\n%s", cause.text, where.text, on.text);
}

/* Leaves the first of those that are alike, if they are enough. Returns how many are left. */
static size_t fold(struct thread *threads, size_t count)
{
    json_t *counts = json_object();
    char key[KEY_BYTES];
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        make_key(key, threads[i].row.item);
        json_object_set_new_nocheck(counts, key, json_integer(json_integer_value(json_object_get(counts, key)) + 1));
    }
    for (size_t i = 0; i < count; i++) {
        json_int_t alike;

        make_key(key, threads[i].row.item);
        alike = json_integer_value(json_object_get(counts, key));
        if (alike < 0)
            continue; /* of a line above */
        if (alike >= (json_int_t)FOLDED_MIN) {
            threads[i].alike = (size_t)alike - 1;
            json_object_set_new_nocheck(counts, key, json_integer(-1));
        }
        threads[left++] = threads[i];
    }
    json_decref(counts);
    return left;
}

static void fill_thread(struct table_cell *cell, const struct list_row *row, const struct table *table)
{
    const size_t alike = ((const struct thread *)row)->alike;
    struct table_cell name;

    (void)table;
    item_fill_thread(cell, row->item);
    if (alike == 0)
        return;
    item_fill_thread(&name, row->item);
    table_cell_format(cell, "%s and %zu more", name.text, alike);
}

/* As a table also in Markdown: indented by four columns it is text. */
static void print_rows(const struct report *report, const struct thread *threads, size_t count)
{
    static const struct table_column columns[] = {
        {"STATE", 7, 15, .fill = item_fill_cause},
        {"AGE", 6, 8, true, .key = "frozen_for_ms", .fill = list_fill_duration},
        {"ID", 5, 10, true, .key = "id"},
        {"THREAD", 20, 40, .fill_row = fill_thread},
        {"WHERE", 20, 60, .fill_row = list_fill_where},
        {"ON", 0, TEXT_ANY_COLUMNS, .fill = item_fill_on},
    };
    struct list list;

    list_init(&list, NULL, false, columns, ARRAY_COUNT(columns), true);
    if (report->markdown)
        list.table.style = (struct text_style){.utf8 = list.table.style.utf8, .columns = TEXT_ANY_COLUMNS};
    list.table.indent = report->markdown ? 4 : 2;
    list_print(&list, threads, sizeof(*threads), count);
}

void thread_table_print(const struct report *report, const json_t *items, bool all)
{
    size_t count = json_array_size(items);
    struct thread *threads = calloc(count + 1, sizeof(*threads));

    if (threads == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(items, i);

        threads[i] =
            (struct thread){.row.item = item, .rank = rank_of(item), .age_ms = item_number(item, "frozen_for_ms")};
    }
    qsort(threads, count, sizeof(*threads), compare_threads);
    print_rows(report, threads, all ? count : fold(threads, count));
    free(threads);
}
