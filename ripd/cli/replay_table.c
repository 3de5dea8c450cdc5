/* SPDX-License-Identifier: Apache-2.0 */
/* replay_table.c - rows in order of what they show, then by how many episodes they have. Prints on standard output. */
#include "cli/replay_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "cli/item.h"
#include "cli/list.h"
#include "cli/table.h"
#include "util/array.h"
#include "util/search.h"

#define NS_PER_MS UINT64_C(1000000)
#define KEY_BYTES (3u * TABLE_CELL_BYTES)

struct row {
    struct list_row row; /* of its first begin: a reference */
    size_t episode_count;
    size_t certain_count;
    size_t recorded_count; /* of which ripd published the begin, too */
    uint64_t longest_ns;
    uint64_t first_wall_ns;
    int64_t earlier_ns; /* by how much the begins came earlier than those of ripd, in all */
};

/* An episode that has not ended. */
struct open_episode {
    uint64_t number;
    uint64_t since_wall_ns;
    size_t row; /* number */
};

struct replay_table {
    struct row *rows;
    json_t *numbers; /* of the rows, by what they show */
    size_t count;
    size_t capacity;
    struct open_episode *open;
    size_t open_count;
    size_t open_capacity;
};

struct replay_table *replay_table_new(void)
{
    struct replay_table *table = calloc(1, sizeof(*table));

    if (table != NULL)
        table->numbers = json_object();
    return table;
}

void replay_table_free(struct replay_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->count; i++)
        json_decref((json_t *)(uintptr_t)table->rows[i].row.item);
    json_decref(table->numbers);
    free(table->rows);
    free(table->open);
    free(table);
}

/* Rows ------------------------------------------------------------------------------------------------------------- */

/* The number of the row of an item, made if there is none; 0 or -ENOMEM. */
static int find_row(struct replay_table *table, const struct event *event, json_t *item, size_t *ret_number)
{
    struct table_cell thread, process, where;
    char key[KEY_BYTES];
    const json_t *known;

    item_fill_thread(&thread, item);
    item_fill_process(&process, item);
    item_fill_where(&where, json_object_get(item, "location"), 0);
    snprintf(key, sizeof(key), "%s\n%s\n%s", thread.text, process.text, where.text);
    known = json_object_get(table->numbers, key);
    *ret_number = known != NULL ? (size_t)json_integer_value(known) : table->count;
    if (known != NULL)
        return 0;
    if (!ARRAY_GROW(table->rows, table->count, table->capacity) ||
        json_object_set_new_nocheck(table->numbers, key, json_integer((json_int_t)table->count)) != 0)
        return -ENOMEM;
    table->rows[table->count++] = (struct row){.row.item = json_incref(item), .first_wall_ns = event->at_wall_ns};
    return 0;
}

static int take_begin(struct replay_table *table, const struct replay_alert *alert)
{
    const struct event *event = alert->event;
    json_t *item = json_loadb(event->text, event->text_bytes, JSON_ALLOW_NUL, NULL);
    struct row *row;
    size_t number;
    int result = ARRAY_GROW(table->open, table->open_count, table->open_capacity)
                     ? find_row(table, event, item, &number)
                     : -ENOMEM;

    json_decref(item);
    if (result != 0)
        return result;
    table->open[table->open_count++] = (struct open_episode){event->episode, event->since_wall_ns, number};
    row = &table->rows[number];
    row->episode_count++;
    row->certain_count += alert->certain;
    if (alert->recorded != NULL) {
        row->recorded_count++;
        row->earlier_ns += (int64_t)(alert->recorded->at_wall_ns - event->at_wall_ns);
    }
    return 0;
}

static void lasted(struct row *row, uint64_t ns)
{
    if (ns > row->longest_ns)
        row->longest_ns = ns;
}

int replay_table_take(struct replay_table *table, const struct replay_alert *alert)
{
    const struct event *event = alert->event;

    if (event->kind == EVENT_BEGIN)
        return take_begin(table, alert);
    for (size_t i = table->open_count; i > 0; i--) {
        struct open_episode *open = &table->open[i - 1];

        if (open->number != event->episode)
            continue;
        lasted(&table->rows[open->row], event->duration_ns);
        *open = table->open[--table->open_count];
        break;
    }
    return 0;
}

/* Printing --------------------------------------------------------------------------------------------------------- */

/* By how much earlier, on average. */
static void fill_begins(struct table_cell *cell, const struct list_row *of, const struct table *table)
{
    const struct row *row = (const struct row *)of;
    struct table_cell duration;
    int64_t ms;

    (void)table;
    if (row->recorded_count == 0) {
        table_cell_format(cell, "-");
        return;
    }
    ms = row->earlier_ns / (int64_t)(row->recorded_count * NS_PER_MS);
    item_fill_duration(&duration, ms < 0 ? -ms : ms);
    if (ms == 0)
        table_cell_format(cell, "as then");
    else
        table_cell_format(cell, "%s %s", duration.text, ms > 0 ? "earlier" : "later");
}

static const struct table_column columns[] = {
    {"EPISODES", 8, 9, true, .key = "episodes"},
    {"CERTAIN", 7, 9, true, .key = "certain"},
    {"BY RIPD", 7, 9, true, .key = "by_ripd"},
    {"BEGINS", 6, 14, .fill_row = fill_begins},
    {"LONGEST", 7, 8, true, .key = "longest_ms", .fill = list_fill_duration},
    {"FIRST", 20, 24, .key = "at"},
    {"THREAD", 8, 32, .fill = item_fill_thread},
    {"PROCESS", 8, 28, .fill = item_fill_process},
    {"WHERE", 0, TEXT_ANY_COLUMNS, .fill_row = list_fill_where},
};

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    return search_order_then(search_order_pair(b->episode_count, b->longest_ns, a->episode_count, a->longest_ns),
                             search_order(a->first_wall_ns, b->first_wall_ns));
}

static void print_totals(const struct replay_table *table, const struct replay_counts *counts)
{
    size_t episodes = 0, certain = 0, published = 0;

    for (size_t i = 0; i < table->count; i++) {
        episodes += table->rows[i].episode_count;
        certain += table->rows[i].certain_count;
        published += table->rows[i].recorded_count;
    }
    printf("%zu episode%s", episodes, episodes == 1 ? "" : "s");
    if (counts->exact)
        printf("; %" PRIu64 " of %" PRIu64 " events are as ripd published them\n", counts->same_count,
               counts->recorded_count);
    else if (counts->by_ripd)
        printf(", %zu certain; ripd published %" PRIu64 ", %zu of them among these\n", certain,
               counts->recorded_begin_count, published);
    else
        printf(", %zu certain\n", certain);
}

static void print_rows(const struct replay_table *table)
{
    struct list list;

    for (size_t i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];

        json_object_update_new((json_t *)(uintptr_t)row->row.item,
                               json_pack("{s:I, s:I, s:I, s:I}", "episodes", (json_int_t)row->episode_count, "certain",
                                         (json_int_t)row->certain_count, "by_ripd", (json_int_t)row->recorded_count,
                                         "longest_ms", (json_int_t)(row->longest_ns / NS_PER_MS)));
    }
    qsort(table->rows, table->count, sizeof(*table->rows), compare_rows);
    list_init(&list, NULL, false, columns, ARRAY_COUNT(columns), true);
    list_print(&list, table->rows, sizeof(*table->rows), table->count);
}

static void print_span(const struct replay_counts *counts)
{
    struct table_cell span, after;
    const time_t first = (time_t)(counts->first_wall_ns / (1000 * NS_PER_MS));
    char from[32];
    struct tm time;

    gmtime_r(&first, &time);
    strftime(from, sizeof(from), "%Y-%m-%dT%H:%M:%SZ", &time);
    item_fill_duration(&span, (long long)((counts->last_wall_ns - counts->first_wall_ns) / NS_PER_MS));
    item_fill_duration(&after, (long long)(counts->stall_after_ns / NS_PER_MS));
    printf("recorded by %s from %s for %s: %" PRIu64 " scan%s of up to %" PRIu64 " id%s, stalled after %s\n",
           counts->by_ripd ? "ripd" : "rip record", from, span.text, counts->scan_count,
           counts->scan_count == 1 ? "" : "s", counts->id_count_max, counts->id_count_max == 1 ? "" : "s", after.text);
}

void replay_table_print(struct replay_table *table, const char *path, const struct replay_counts *counts)
{
    if (counts->scan_count == 0) {
        printf("%s: no scan is in it\n", path);
        return;
    }
    for (size_t i = 0; i < table->open_count; i++)
        lasted(&table->rows[table->open[i].row], counts->last_wall_ns - table->open[i].since_wall_ns);
    print_span(counts);
    if (table->count != 0)
        print_rows(table);
    print_totals(table, counts);
}
