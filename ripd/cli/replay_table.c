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
#include "cli/table.h"
#include "util/array.h"
#include "util/search.h"

#define NS_PER_MS UINT64_C(1000000)

enum name { NAME_THREAD, NAME_PROCESS, NAME_WHERE, NAME_COUNT };

struct row {
    char *names[NAME_COUNT];
    size_t episode_count;
    size_t certain_count;
    size_t recorded_count; /* of which ripd published the begin, too */
    uint64_t longest_ns;
    char *first; /* the time of the first begin */
    uint64_t first_wall_ns;
    int64_t earlier_ns; /* by how much the begins came earlier than those of ripd, in all */
};

/* An episode that has not ended. */
struct open_episode {
    uint64_t number;
    uint64_t since_wall_ns;
    struct row *row;
};

struct replay_table {
    struct row **rows;
    size_t count;
    size_t capacity;
    struct open_episode *open;
    size_t open_count;
    size_t open_capacity;
};

struct replay_table *replay_table_new(void)
{
    return calloc(1, sizeof(struct replay_table));
}

static void row_free(struct row *row)
{
    for (int i = 0; i < NAME_COUNT; i++)
        free(row->names[i]);
    free(row->first);
    free(row);
}

void replay_table_free(struct replay_table *table)
{
    for (size_t i = 0; table != NULL && i < table->count; i++)
        row_free(table->rows[i]);
    if (table != NULL) {
        free(table->rows);
        free(table->open);
    }
    free(table);
}

/* Rows ------------------------------------------------------------------------------------------------------------- */

static int compare_key(const void *key, const void *item)
{
    const struct table_cell *names = key;
    const struct row *row = *(struct row *const *)item;
    int order = 0;

    for (int i = 0; i < NAME_COUNT && order == 0; i++) {
        order = strncmp(names[i].text, row->names[i], names[i].bytes);
        if (order == 0)
            order = -(row->names[i][names[i].bytes] != '\0');
    }
    return order;
}

/* names are those of an item. NULL: no memory. */
static struct row *make_row(const struct event *event, const json_t *item, const struct table_cell *names)
{
    struct row *row = calloc(1, sizeof(*row));
    struct table_cell first;
    bool complete;

    if (row == NULL)
        return NULL;
    table_cell_value(&first, item, "at");
    row->first = strndup(first.text, first.bytes);
    row->first_wall_ns = event->at_wall_ns;
    complete = row->first != NULL;
    for (int i = 0; i < NAME_COUNT; i++) {
        row->names[i] = strndup(names[i].text, names[i].bytes);
        complete &= row->names[i] != NULL;
    }
    if (complete)
        return row;
    row_free(row);
    return NULL;
}

static struct row *find_row(struct replay_table *table, const struct event *event, const json_t *item)
{
    const struct text_style style = text_style_of_output();
    struct table_cell names[NAME_COUNT];
    struct row *row;
    size_t at;

    item_fill_thread(&names[NAME_THREAD], item);
    item_fill_process(&names[NAME_PROCESS], item);
    item_fill_where(&names[NAME_WHERE], json_object_get(item, "location"), text_path_parts(&style));
    at = search_first(names, table->rows, table->count, sizeof(struct row *), compare_key);
    if (at < table->count && compare_key(names, &table->rows[at]) == 0)
        return table->rows[at];
    row = ARRAY_GROW(table->rows, table->count, table->capacity) ? make_row(event, item, names) : NULL;
    if (row == NULL)
        return NULL;
    ARRAY_OPEN(table->rows, table->count, at);
    return table->rows[at] = row;
}

static int take_begin(struct replay_table *table, const struct replay_alert *alert)
{
    const struct event *event = alert->event;
    json_t *item = json_loadb(event->text, event->text_bytes, JSON_ALLOW_NUL, NULL);
    struct row *row =
        ARRAY_GROW(table->open, table->open_count, table->open_capacity) ? find_row(table, event, item) : NULL;

    json_decref(item);
    if (row == NULL)
        return -ENOMEM;
    table->open[table->open_count++] = (struct open_episode){event->episode, event->since_wall_ns, row};
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
        lasted(open->row, event->duration_ns);
        *open = table->open[--table->open_count];
        break;
    }
    return 0;
}

/* Printing --------------------------------------------------------------------------------------------------------- */

enum column { EPISODES, CERTAIN, PUBLISHED, BEGINS, LONGEST, FIRST, THREAD, PROCESS, WHERE, COLUMN_COUNT };
static const struct table_column columns[COLUMN_COUNT] = {
    [EPISODES] = {"EPISODES", 8, 9, true},
    [CERTAIN] = {"CERTAIN", 7, 9, true},
    [PUBLISHED] = {"BY RIPD", 7, 9, true},
    [BEGINS] = {"BEGINS", 6, 14, false},
    [LONGEST] = {"LONGEST", 7, 8, true},
    [FIRST] = {"FIRST", 20, 24, false},
    [THREAD] = {"THREAD", 8, 32, false},
    [PROCESS] = {"PROCESS", 8, 28, false},
    [WHERE] = {"WHERE", 0, TEXT_ANY_COLUMNS, false},
};

/* By how much earlier, on average. */
static void fill_begins(struct table_cell *cell, const struct row *row)
{
    struct table_cell duration;
    int64_t ms;

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

/* For table_print_all(). */
static void fill_cells(const struct table *table, struct table_cell *cells, const void *context, size_t nth)
{
    const struct row *row = ((struct row *const *)context)[nth];

    (void)table;
    table_cell_format(&cells[EPISODES], "%zu", row->episode_count);
    table_cell_format(&cells[CERTAIN], "%zu", row->certain_count);
    table_cell_format(&cells[PUBLISHED], "%zu", row->recorded_count);
    fill_begins(&cells[BEGINS], row);
    item_fill_duration(&cells[LONGEST], (long long)(row->longest_ns / NS_PER_MS));
    table_cell_format(&cells[FIRST], "%s", row->first);
    table_cell_format(&cells[THREAD], "%s", row->names[NAME_THREAD]);
    table_cell_format(&cells[PROCESS], "%s", row->names[NAME_PROCESS]);
    table_cell_format(&cells[WHERE], "%s", row->names[NAME_WHERE]);
}

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = *(struct row *const *)left, *b = *(struct row *const *)right;

    return search_order_then(search_order_pair(b->episode_count, b->longest_ns, a->episode_count, a->longest_ns),
                             search_order(a->first_wall_ns, b->first_wall_ns));
}

static void print_totals(const struct replay_table *table, const struct replay_counts *counts)
{
    size_t episodes = 0, certain = 0, published = 0;

    for (size_t i = 0; i < table->count; i++) {
        episodes += table->rows[i]->episode_count;
        certain += table->rows[i]->certain_count;
        published += table->rows[i]->recorded_count;
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

static void print_rows(const struct replay_table *rows)
{
    struct table table;

    qsort(rows->rows, rows->count, sizeof(struct row *), compare_rows);
    table_init(&table, columns, COLUMN_COUNT, true);
    table_print_all(&table, rows->count, fill_cells, rows->rows);
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
        lasted(table->open[i].row, counts->last_wall_ns - table->open[i].since_wall_ns);
    print_span(counts);
    if (table->count != 0)
        print_rows(table);
    print_totals(table, counts);
}
