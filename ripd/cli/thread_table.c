/* SPDX-License-Identifier: Apache-2.0 */
/* thread_table.c - see thread_table.h. Prints on standard output. */
#include "cli/thread_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/item.h"
#include "cli/table.h"
#include "util/array.h"

#define FOLDED_MIN 3u /* alike */
#define KEY_BYTES (3u * TABLE_CELL_BYTES)

static const struct table_column columns[] = {
    {"STATE", 7, 15, false},   {"AGE", 6, 8, true},      {"ID", 5, 10, true},
    {"THREAD", 20, 40, false}, {"WHERE", 20, 60, false}, {"ON", 0, TEXT_ANY_COLUMNS, false},
};
#define COLUMN_COUNT (ARRAY_COUNT(columns))

struct thread {
    const json_t *item;
    int rank;
    long long age_ms;
    size_t alike; /* others that this line stands for */
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
        make_key(key, threads[i].item);
        json_object_set_new_nocheck(counts, key, json_integer(json_integer_value(json_object_get(counts, key)) + 1));
    }
    for (size_t i = 0; i < count; i++) {
        json_int_t alike;

        make_key(key, threads[i].item);
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

/* For table_print_all(). */
static void fill_row(const struct table *table, struct table_cell *cells, const void *context, size_t nth)
{
    const struct thread *thread = (const struct thread *)context + nth;
    struct table_cell name;

    item_fill_cause(&cells[0], thread->item);
    item_fill_duration(&cells[1], thread->age_ms);
    table_cell_value(&cells[2], thread->item, "id");
    item_fill_thread(&cells[3], thread->item);
    item_fill_where(&cells[4], json_object_get(thread->item, "location"), text_path_parts(&table->style));
    item_fill_on(&cells[5], thread->item);
    if (thread->alike == 0)
        return;
    item_fill_thread(&name, thread->item);
    table_cell_format(&cells[3], "%s and %zu more", name.text, thread->alike);
}

/* As a table also in Markdown: indented by four columns it is text. */
static void print_rows(const struct report *report, const struct thread *threads, size_t count)
{
    struct table table;

    table_init(&table, columns, COLUMN_COUNT, true);
    if (report->markdown)
        table.style = (struct text_style){.utf8 = table.style.utf8, .columns = TEXT_ANY_COLUMNS};
    table.indent = report->markdown ? 4 : 2;
    table_print_all(&table, count, fill_row, threads);
}

void thread_table_print(const struct report *report, const json_t *items, bool all)
{
    size_t count = json_array_size(items);
    struct thread *threads = calloc(count + 1, sizeof(*threads));

    if (threads == NULL)
        return;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(items, i);

        threads[i] = (struct thread){.item = item, .rank = rank_of(item), .age_ms = item_number(item, "frozen_for_ms")};
    }
    qsort(threads, count, sizeof(*threads), compare_threads);
    print_rows(report, threads, all ? count : fold(threads, count));
    free(threads);
}
