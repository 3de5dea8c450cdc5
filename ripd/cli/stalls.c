/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stalls.c - `rip stalls`: what is stuck now, a line an incident; from one ripd or from many.
 *
 * Guarantees
 *   A. "no stalls" is said only of what was read: rings that ripd cannot read, scans that are late, and hosts that do
 *      not answer are reported beside it.
 *   B. A wrong flag or value is refused before ripd is asked.
 */
#include <stdio.h>
#include <stdlib.h>
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
#define ROWS_OF_FRAME 4u /* on a terminal that is watched: title, summary, lines left out */
#define WATCH_S 2u
#define ASKED "10000" /* ids or groups of one host: as many as it gives */

struct settings {
    struct hosts_options hosts;
    struct filters filters;
    const char *group;
    uint64_t limit;
    bool all;
    bool watch;
};

static const struct cli_flag flags[] = {
    HOSTS_FLAGS,
    HOSTS_DIR_FLAG,
    CLI_FLAG("--group", "WAY", CLI_TEXT, group, "counted by location, or by root: who holds them up"),
    CLI_FLAG("--all", NULL, CLI_SWITCH, all, "a line a stall, also of those that wait for one another"),
    CLI_BETWEEN("--limit", "N", CLI_NUMBER, limit, 1, LINES_MAX, "at most N lines (default 100, at most 10000)"),
    CLI_FLAG("--watch", NULL, CLI_SWITCH, watch, "again every 2 s, until it is interrupted"),
    FILTERS_FLAGS,
};

static const char values[] = FILTER_VALUES "WAY is one of: location root\n";

const struct cli_syntax cli_stalls_syntax = {
    .name = "stalls",
    .usage = "usage: rip stalls [FLAG...]\n"
             "\n"
             "What is stuck now, longest first: a line an incident, which is a stall and all that wait for it.\n"
             "\n",
    .values = values,
    .notes = "\n"
             "exit status: 0, with stalls or without; 1 a ripd does not answer; 2 wrong flag, or a request that ripd\n"
             "refuses; 3 an answer is not one of ripd's; 4 output could not be written\n",
    CLI_FLAGS(flags),
};

enum way { WAY_INCIDENTS, WAY_LOCATION, WAY_ROOT, WAY_COUNT };

/* An incident, or a group that ripd made. */
struct line {
    struct list_row row;
    struct incident incident; /* of a group: shown is the group */
};

struct lines {
    const struct hosts *hosts;
    enum way way;
    struct line *items;
    size_t count;
    size_t capacity;
    long long stall_count;
    long long id_count;
};

/* ---- columns ---- */

static void fill_longest(struct table_cell *cell, const struct list_row *row, const struct table *table)
{
    (void)table;
    item_fill_duration(cell, ((const struct line *)row)->incident.longest_ms);
}

/* What it waits for, and how many wait with it or for it: that first, so that it is never cut. */
static void fill_on(struct table_cell *cell, const struct list_row *row, const struct table *table)
{
    const struct incident *incident = &((const struct line *)row)->incident;
    struct table_cell on;

    (void)table;
    item_fill_on(&on, incident->shown);
    if (incident->is_root && incident->waiting_count != 0)
        table_cell_format(cell, "and %zu wait for it: %s", incident->waiting_count, on.text);
    else if (incident->waiting_count > 1)
        table_cell_format(cell, "and %zu more: %s", incident->waiting_count - 1, on.text);
    else
        table_cell_format(cell, "%s", on.text);
}

static void fill_root(struct table_cell *cell, const json_t *root)
{
    item_fill_member(cell, root, NULL, NULL);
}

static void fill_root_where(struct table_cell *cell, const struct list_row *row, const struct table *table)
{
    const struct list_row root = {.item = json_object_get(row->item, "root")};

    list_fill_where(cell, &root, table);
}

/* A root is like an item, and a deadlock like the chain of one. */
static void fill_root_on(struct table_cell *cell, const json_t *group)
{
    const json_t *root = json_object_get(group, "root"), *deadlock = json_object_get(group, "deadlock");
    char names[256];

    item_fill_on(cell, root);
    if (json_array_size(deadlock) == 0)
        return;
    item_format_chain(names, sizeof(names), deadlock, root, ITEM_CHAIN_NAMES);
    table_cell_format(cell, "deadlock with %s", names);
}

/* The request of each way, and its columns. */
static const struct way_facts {
    const char *name;
    const char *path;
    const char *schema;
    struct table_column columns[6];
    size_t count;
} ways[] = {
    [WAY_INCIDENTS] = {NULL,
                       "/stalls?trail=0&limit=" ASKED,
                       "ripd/stalls/1",
                       {{"AGE", 6, 8, true, .fill_row = fill_longest},
                        {"CAUSE", 8, 15, .fill = item_fill_cause},
                        {"THREAD", 8, 28, .fill = item_fill_thread},
                        {"PROCESS", 14, 28, .fill = item_fill_process},
                        {"WHERE", 20, 60, .fill_row = list_fill_where},
                        {"ON", 0, TEXT_ANY_COLUMNS, .fill_row = fill_on}},
                       6},
    [WAY_LOCATION] = {"location",
                      "/stalls?group=location&limit=" ASKED,
                      "ripd/stalls-by-location/1",
                      {{"COUNT", 5, 10, true, .key = "count"},
                       {"LONGEST", 7, 8, true, .fill_row = fill_longest},
                       {"FOR EXAMPLE", 8, 28, .key = "example", .fill = item_fill_thread},
                       {"WHERE", 16, TEXT_ANY_COLUMNS, .fill_row = list_fill_where}},
                      4},
    [WAY_ROOT] = {"root",
                  "/stalls?group=root&limit=" ASKED,
                  "ripd/stalls-by-root/1",
                  {{"COUNT", 5, 10, true, .key = "count"},
                   {"LONGEST", 7, 8, true, .fill_row = fill_longest},
                   {"CAUSE", 8, 15, .key = "root", .fill = item_fill_cause},
                   {"WAIT FOR", 8, 28, .key = "root", .fill = fill_root},
                   {"WHERE", 16, 60, .fill_row = fill_root_where},
                   {"ON", 0, TEXT_ANY_COLUMNS, .fill = fill_root_on}},
                  6},
};

/* ---- flags ---- */

/* False after an error message. */
static bool take_way(const struct settings *settings, enum way *ret_way)
{
    *ret_way = WAY_INCIDENTS;
    if (settings->group == NULL)
        return true;
    for (int i = WAY_LOCATION; i < WAY_COUNT; i++)
        if (strcmp(settings->group, ways[i].name) == 0)
            *ret_way = (enum way)i;
    if (*ret_way == WAY_INCIDENTS)
        cli_error("--group: '%.64s': expected location or root", settings->group);
    else if (settings->all)
        cli_error("--all: expected without --group");
    return *ret_way != WAY_INCIDENTS && !settings->all;
}

/* ---- from answers to lines ---- */

static bool add_line(struct lines *lines, size_t host, const struct incident *incident)
{
    if (!ARRAY_GROW(lines->items, lines->count, lines->capacity))
        return false;
    lines->items[lines->count++] = (struct line){{incident->shown, host}, *incident};
    return true;
}

static bool add_incidents(struct lines *lines, size_t host, const json_t *stalls)
{
    struct incident *incidents = NULL;
    size_t count = 0;
    bool added = incidents_of(stalls, &incidents, &count) == 0;

    for (size_t i = 0; added && i < count; i++)
        added = add_line(lines, host, &incidents[i]);
    free(incidents);
    return added;
}

static bool add_each(struct lines *lines, size_t host, const json_t *items, const char *age)
{
    size_t i;
    json_t *item;

    json_array_foreach(items, i, item)
    {
        const struct incident alone = {
            .shown = item, .member_count = 1, .is_root = true, .longest_ms = item_number(item, age)};

        if (!add_line(lines, host, &alone))
            return false;
    }
    return true;
}

/* Longest first, whichever host it is of; what a group counts first where groups are shown. */
static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    long long count_a = item_number(a->incident.shown, "count"), count_b = item_number(b->incident.shown, "count");

    if (count_a != count_b)
        return count_a > count_b ? -1 : 1;
    if (a->incident.longest_ms != b->incident.longest_ms)
        return a->incident.longest_ms > b->incident.longest_ms ? -1 : 1;
    return (a->row.host > b->row.host) - (a->row.host < b->row.host);
}

static bool collect(struct lines *lines, bool all)
{
    const struct hosts *hosts = lines->hosts;
    bool added = true;

    for (size_t i = 0; added && i < hosts_count(hosts); i++) {
        const json_t *document = hosts_document(hosts, i), *stalls = json_object_get(document, "stalls");

        if (document == NULL)
            continue;
        lines->stall_count += frame_count(document, "stalled");
        lines->id_count += frame_count(document, NULL);
        if (lines->way == WAY_INCIDENTS && !all)
            added = add_incidents(lines, i, stalls);
        else
            added = add_each(lines, i, stalls, lines->way == WAY_INCIDENTS ? "frozen_for_ms" : "longest_ms");
    }
    if (lines->count > 1)
        qsort(lines->items, lines->count, sizeof(*lines->items), compare_lines);
    return added;
}

/* ---- what is printed ---- */

static void print_summary(const struct lines *lines, bool all, size_t limit)
{
    const char *what = lines->way == WAY_INCIDENTS ? "incident" : "group";

    if (lines->count > limit)
        printf("%zu more lines; --limit shows more\n", lines->count - limit);
    if (hosts_are_local(lines->hosts))
        printf("%lld of %lld ids have not moved for 1 s\n", lines->stall_count, lines->id_count);
    else if (lines->stall_count == 0)
        printf("no stalls among %lld ids\n", lines->id_count);
    else if (lines->count == 0)
        printf("no such stalls; %lld of %lld ids are stalled\n", lines->stall_count, lines->id_count);
    else if (all)
        printf("%lld of %lld ids are stalled\n", lines->stall_count, lines->id_count);
    else
        printf("%lld of %lld ids are stalled, %zu %s%s\n", lines->stall_count, lines->id_count, lines->count, what,
               lines->count == 1 ? "" : "s");
}

/* ---- one question ---- */

/* Warnings come last: on a terminal they stand where eyes are. */
static int show(struct hosts *hosts, const struct settings *settings, enum way way, size_t limit)
{
    struct lines lines = {.hosts = hosts, .way = way};
    struct list list;
    int status;

    if (!collect(&lines, settings->all || settings->hosts.json)) {
        cli_error("out of memory");
        free(lines.items);
        return CLI_UNREACHABLE;
    }
    list_init(&list, hosts, settings->hosts.json, ways[way].columns, ways[way].count, true);
    list_print(&list, lines.items, sizeof(*lines.items), lines.count < limit ? lines.count : limit);
    if (!settings->hosts.json && frame_answered(hosts) != 0)
        print_summary(&lines, settings->all, limit);
    else if (!settings->hosts.json && hosts_count(hosts) == 0)
        puts("no host reports stalls to Prometheus");
    cli_flush();
    status = hosts_report(hosts);
    frame_warn(hosts, "stalls");
    free(lines.items);
    return status;
}

static int watch(struct hosts *hosts, const struct settings *settings, const char *target, enum way way, size_t limit)
{
    for (;;) {
        struct text_style style = text_style_of_output();
        size_t rows = style.rows > ROWS_OF_FRAME + 1 ? style.rows - ROWS_OF_FRAME : 1;

        hosts_get(hosts, target, ways[way].schema, "stalls");
        if (style.columns != TEXT_ANY_COLUMNS && !settings->hosts.json)
            fputs("\x1b[H\x1b[J", stdout); /* from the top, and nothing of the last time */
        show(hosts, settings, way, style.rows != 0 && !settings->hosts.json && rows < limit ? rows : limit);
        if (ferror(stdout))
            return CLI_OUTPUT;
        sleep(WATCH_S);
    }
}

int cli_stalls(int argc, char **argv)
{
    static struct settings settings = {.hosts.reads_rings = true};
    char target[FILTERS_TARGET_BYTES];
    struct hosts *hosts = NULL;
    size_t limit;
    enum way way;
    int status;

    if (!cli_parse_words(&cli_stalls_syntax, argc, argv, &settings, NULL, 0, NULL, &status))
        return status;
    if (!take_way(&settings, &way) || !filters_target(&settings.filters, ways[way].path, target))
        return CLI_USAGE;
    limit = settings.limit != 0 ? settings.limit : settings.hosts.json ? LINES_MAX : LINES_DEFAULT;
    status = hosts_open(&hosts, &settings.hosts);
    if (status != CLI_OK)
        return status;
    if (settings.watch) {
        status = watch(hosts, &settings, target, way, limit);
    } else {
        hosts_get(hosts, target, ways[way].schema, "stalls");
        status = show(hosts, &settings, way, limit);
    }
    hosts_close(hosts);
    return status;
}
