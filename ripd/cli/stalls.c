/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stalls.c - `rip stalls`: prints what is stuck now, one line per incident, from one or several ripd.
 *
 * Guarantees
 *   A. "no stalls" refers only to what was read: rings that ripd cannot read, late scans, and hosts that do not answer
 *      are reported with it.
 *   B. A wrong flag or value is refused before a request is sent.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/hosts.h"
#include "cli/incidents.h"
#include "cli/item.h"
#include "cli/list.h"
#include "cli/table.h"
#include "util/array.h"

#define LINES_DEFAULT 100u
#define LINES_MAX 10000u
#define ROWS_OF_FRAME 4u /* with --watch on a terminal: title, summary, omitted lines */
#define WATCH_S 2u
#define REQUEST_LIMIT "10000" /* requested ids or groups per host: the maximum */

struct settings {
    struct hosts_options hosts;
    struct filters filters;
    const char *group;
    uint64_t limit;
    bool all;
    bool watch;
};

static struct settings settings = {.hosts.reads_rings = true};

static const struct cli_flag flags[] = {
    HOSTS_FLAGS,
    HOSTS_DIR_FLAG,
    CLI_FLAG("--group", "WAY", CLI_TEXT, group, "count by location, or by root (the holder that holds them up)"),
    CLI_FLAG("--all", NULL, CLI_SWITCH, all, "print one line per stall, including those that wait for each other"),
    CLI_BETWEEN("--limit", "N", CLI_NUMBER, limit, 1, LINES_MAX, "print at most N lines (default 100, at most 10000)"),
    CLI_FLAG("--watch", NULL, CLI_SWITCH, watch, "repeat every 2 s until interrupted"),
    FILTERS_FLAGS,
};

static const char values[] = FILTER_VALUES "WAY is one of: location root\n";

const struct cli_syntax cli_stalls_syntax = {
    .name = "stalls",
    .usage = "usage: rip stalls [FLAG...]\n"
             "\n"
             "Prints what is stuck now, longest first, one line per incident: a stall and all that wait for it.\n"
             "\n",
    .values = values,
    .notes = "\n"
             "exit status: 0, with stalls or without; 1 a ripd does not answer; 2 wrong flag, or a request that ripd\n"
             "refuses; 3 an answer is not from ripd; 4 output could not be written\n",
    CLI_FLAGS(flags),
};

enum way { WAY_INCIDENTS, WAY_LOCATION, WAY_ROOT, WAY_COUNT };

/* Returns the age of an incident, a group, or a single stall. */
static long long age_of(const json_t *shown)
{
    long long longest_ms = item_number(shown, "longest_ms");

    return longest_ms != ITEM_UNKNOWN ? longest_ms : item_number(shown, "frozen_for_ms");
}

static void fill_age(struct table_cell *cell, const json_t *shown)
{
    item_fill_duration(cell, age_of(shown));
}

/* Writes what it waits for, and how many wait with it or for it. The number is first, so that it is never cut. */
static void fill_on(struct table_cell *cell, const json_t *shown)
{
    const bool is_root = json_is_true(json_object_get(shown, "is_root"));
    const long long waiting_count = item_number(shown, "waiting");
    struct table_cell on;

    item_fill_on(&on, shown);
    table_cell_clear(cell);
    if (is_root && waiting_count > 0)
        table_cell_add(cell, "and %lld wait for it: ", waiting_count);
    else if (waiting_count > 1)
        table_cell_add(cell, "and %lld more: ", waiting_count - 1);
    table_cell_add(cell, "%s", on.bytes != 0 || cell->bytes == 0 ? on.text : "-");
}

static void fill_root(struct table_cell *cell, const json_t *root)
{
    table_cell_clear(cell);
    item_add_member(cell, root, NULL, NULL);
}

/* A root has the members of an item, and a deadlock those of a chain. */
static void fill_root_on(struct table_cell *cell, const json_t *group)
{
    const json_t *root = json_object_get(group, "root"), *deadlock = json_object_get(group, "deadlock");

    if (json_array_size(deadlock) == 0) {
        item_fill_on(cell, root);
        return;
    }
    table_cell_format(cell, "deadlock with ");
    item_add_chain(cell, deadlock, root);
}

/* Request and columns of each kind of group. */
static const struct way_facts {
    const char *name;
    const char *path;
    const char *schema;
    struct table_column columns[6];
    size_t count;
} ways[] = {
    [WAY_INCIDENTS] = {NULL,
                       "/stalls?trail=0&limit=" REQUEST_LIMIT,
                       "ripd/stalls/1",
                       {{"AGE", 6, 8, true, .fill = fill_age},
                        {"CAUSE", 8, 15, .fill = item_fill_cause},
                        {"THREAD", 8, 28, .fill = item_fill_thread},
                        {"PROCESS", 14, 28, .fill = item_fill_process},
                        {"WHERE", 20, 60, .key = "location", .fill_columns = list_fill_where},
                        {"ON", 0, TEXT_ANY_COLUMNS, .fill = fill_on}},
                       6},
    [WAY_LOCATION] = {"location",
                      "/stalls?group=location&limit=" REQUEST_LIMIT,
                      "ripd/stalls-by-location/1",
                      {{"COUNT", 5, 10, true, .key = "count"},
                       {"LONGEST", 7, 8, true, .key = "longest_ms", .fill = item_fill_ms},
                       {"FOR EXAMPLE", 8, 28, .key = "example", .fill = item_fill_thread},
                       {"WHERE", 16, TEXT_ANY_COLUMNS, .key = "location", .fill_columns = list_fill_where}},
                      4},
    [WAY_ROOT] = {"root",
                  "/stalls?group=root&limit=" REQUEST_LIMIT,
                  "ripd/stalls-by-root/1",
                  {{"COUNT", 5, 10, true, .key = "count"},
                   {"LONGEST", 7, 8, true, .key = "longest_ms", .fill = item_fill_ms},
                   {"CAUSE", 8, 15, .key = "root", .fill = item_fill_cause},
                   {"WAIT FOR", 8, 28, .key = "root", .fill = fill_root},
                   {"WHERE", 16, 60, .key = "root.location", .fill_columns = list_fill_where},
                   {"ON", 0, TEXT_ANY_COLUMNS, .fill = fill_root_on}},
                  6},
};

/* ---- flags ---- */

/* Returns false after an error message. */
static bool take_way(enum way *ret_way)
{
    *ret_way = WAY_INCIDENTS;
    if (settings.group == NULL)
        return true;
    for (int i = WAY_LOCATION; i < WAY_COUNT; i++)
        if (strcmp(settings.group, ways[i].name) == 0)
            *ret_way = (enum way)i;
    if (*ret_way == WAY_INCIDENTS)
        cli_error("--group: '%.64s': expected location or root", settings.group);
    else if (settings.all)
        cli_error("--all: expected without --group");
    return *ret_way != WAY_INCIDENTS && !settings.all;
}

/* ---- from answers to lines ---- */

/* Longest first over all hosts; groups are sorted by their count first. */
static int compare_rows(const void *left, const void *right)
{
    const struct list_row *a = left, *b = right;
    long long count_a = item_number(a->item, "count"), count_b = item_number(b->item, "count");
    long long ms_a = age_of(a->item), ms_b = age_of(b->item);

    if (count_a != count_b)
        return count_a > count_b ? -1 : 1;
    if (ms_a != ms_b)
        return ms_a > ms_b ? -1 : 1;
    return (a->host > b->host) - (a->host < b->host);
}

static void add_incidents(struct list *list)
{
    for (size_t host = 0; host < hosts_count(); host++) {
        json_t *incidents = incidents_of(json_object_get(hosts_document(host), "stalls")), *shown;
        size_t i;

        json_array_foreach(incidents, i, shown) list_add(list, host, json_incref(shown));
        json_decref(incidents);
    }
}

/* ---- output ---- */

/* As on the page: an id that sleeps for a time that it chose, and for which no other waits, is no incident. */
static size_t count_asleep(const struct list *list)
{
    size_t count = 0;

    for (size_t i = 0; i < list->count; i++)
        if (item_is(list->rows[i].item, "cause", "sleeping") && item_number(list->rows[i].item, "waiting") <= 0)
            count++;
    return count;
}

static void print_summary(const struct list *list, enum way way, size_t limit)
{
    const char *what = way == WAY_INCIDENTS ? "incident" : "group";
    const size_t asleep_count = way == WAY_INCIDENTS ? count_asleep(list) : 0, count = list->count - asleep_count;
    const struct frame frame = frame_of();
    const long long stall_count = frame.counts[ID_STALLED], id_count = frame.ids;

    if (list->count > limit)
        printf("%zu more line%s; --limit shows more\n", list->count - limit, list->count - limit == 1 ? "" : "s");
    if (hosts_are_local())
        printf("%lld of %lld ids have not moved for 1 s\n", stall_count, id_count);
    else if (stall_count == 0)
        printf("no stalls among %lld ids\n", id_count);
    else if (list->count == 0)
        printf("no such stalls; %lld of %lld ids are stalled\n", stall_count, id_count);
    else if (settings.all)
        printf("%lld of %lld ids are stalled\n", stall_count, id_count);
    else if (asleep_count == 0)
        printf("%lld of %lld ids are stalled, %zu %s%s\n", stall_count, id_count, count, what, count == 1 ? "" : "s");
    else
        printf("%lld of %lld ids are stalled, %zu %s%s, %zu asleep\n", stall_count, id_count, count, what,
               count == 1 ? "" : "s", asleep_count);
}

/* ---- one request ---- */

/* Warnings come last, because on a terminal that is where the user looks. */
static int show(enum way way, size_t limit)
{
    struct list list;
    int status;

    list_init(&list, true, settings.hosts.json, ways[way].columns, ways[way].count);
    if (way == WAY_INCIDENTS && !settings.all && !settings.hosts.json)
        add_incidents(&list);
    else
        list_add_each(&list, "stalls");
    list_sort(&list, compare_rows);
    list_print(&list, 0, limit);
    if (!settings.hosts.json && frame_of().answered != 0)
        print_summary(&list, way, limit);
    else if (!settings.hosts.json && hosts_count() == 0)
        puts("no host reports stalls to Prometheus");
    cli_flush();
    status = hosts_report();
    frame_warn("stalls");
    list_done(&list);
    return status;
}

static int watch(const char *target, enum way way, size_t limit)
{
    for (;;) {
        struct text_style style = text_style_of_output();
        size_t rows = style.rows > ROWS_OF_FRAME + 1 ? style.rows - ROWS_OF_FRAME : 1;

        hosts_get(target, ways[way].schema, "stalls");
        if (style.columns != TEXT_ANY_COLUMNS && !settings.hosts.json)
            fputs("\x1b[H\x1b[J", stdout); /* moves to the top and clears the screen */
        show(way, style.rows != 0 && !settings.hosts.json && rows < limit ? rows : limit);
        if (ferror(stdout))
            return CLI_OUTPUT;
        sleep(WATCH_S);
    }
}

int cli_stalls(char **words)
{
    char target[FILTERS_TARGET_BYTES];
    size_t limit;
    enum way way;
    int status;

    (void)words;
    if (!take_way(&way) || !filters_target(&settings.filters, ways[way].path, target))
        return CLI_USAGE;
    limit = settings.limit != 0 ? settings.limit : settings.hosts.json ? LINES_MAX : LINES_DEFAULT;
    status = hosts_open(&settings.hosts);
    if (status != CLI_OK)
        return status;
    if (settings.watch)
        return watch(target, way, limit);
    hosts_get(target, ways[way].schema, "stalls");
    return show(way, limit);
}
