/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ls.c - `rip ls`: the rings and their processes, with how many ids are in which state.
 *
 * Guarantees
 *   A. A ring that cannot be read is listed, with the reason.
 *   B. Counts that were not asked for, beyond --limit, are never 0: such lines are left out, and how many is said.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/frame.h"
#include "cli/hosts.h"
#include "cli/item.h"
#include "cli/table.h"
#include "util/array.h"
#include "util/text.h"
#include "view/query_parse.h"

#define LINES_MAX 200u /* each may be a request of its own for its counts */
#define PARAMETERS (PARAMETER_RING | PARAMETER_PID | PARAMETER_LIMIT)

struct settings {
    struct hosts_options hosts;
    struct filters filters;
};

static const struct cli_flag flags[] = {
    HOSTS_FLAGS,
    HOSTS_DIR_FLAG,
    CLI_FLAG("--ring", "RING", CLI_TEXT, filters.values[FILTER_RING], "this ring"),
    CLI_FLAG("--pid", "PID", CLI_TEXT, filters.values[FILTER_PID], "rings of this process"),
};

const struct cli_syntax cli_ls_syntax = {
    .name = "ls",
    .usage = "usage: rip ls [FLAG...]\n"
             "\n"
             "Rings, their processes, and how many of their ids are in which state.\n"
             "\n",
    .notes = "\n"
             "exit status: 0; 1 a ripd does not answer; 2 wrong flag, or a request that ripd refuses; 3 an answer is\n"
             "not one of ripd's; 4 output could not be written\n",
    CLI_FLAGS(flags),
};

enum column { RING, PROCESS, RUNNING, IDLE, STALLED, STOPPED, ENDED, REMARKS };
static const struct table_column columns[] = {
    {"HOST", 8, 30, false},  {"RING", 8, 28, false}, {"PROCESS", 8, 28, false},
    {"RUNNING", 7, 9, true}, {"IDLE", 4, 9, true},   {"STALLED", 7, 9, true},
    {"STOPPED", 7, 9, true}, {"ENDED", 5, 9, true},  {"REMARKS", 0, TEXT_ANY_COLUMNS, false},
};
#define COLUMN_COUNT (ARRAY_COUNT(columns))

/* A process of a ring; a ring without one has a line, too. */
struct line {
    size_t host;
    const json_t *ring;
    const json_t *process; /* NULL: it has none, or cannot be read */
    json_t *counted;       /* an answer whose frame has the counts; NULL: there is none */
};

struct lines {
    struct hosts *hosts;
    struct line items[LINES_MAX];
    size_t count;
    size_t left_out;
};

static void add_line(struct lines *lines, size_t host, const json_t *ring, const json_t *process)
{
    if (lines->count == LINES_MAX)
        lines->left_out++;
    else
        lines->items[lines->count++] = (struct line){.host = host, .ring = ring, .process = process};
}

static void collect(struct lines *lines)
{
    for (size_t host = 0; host < hosts_count(lines->hosts); host++) {
        const json_t *rings = json_object_get(hosts_document(lines->hosts, host), "rings");
        size_t i, j;
        json_t *ring, *process;

        json_array_foreach(rings, i, ring)
        {
            const json_t *processes = json_object_get(ring, "processes");

            if (json_array_size(processes) == 0)
                add_line(lines, host, ring, NULL);
            json_array_foreach(processes, j, process) add_line(lines, host, ring, process);
        }
    }
}

/* A ring's name as a pattern that matches nothing else. False: too long. */
static bool quote(char *text, size_t size, const char *name)
{
    size_t length = 0;

    for (; *name != '\0' && length + 3 < size; name++) {
        if (strchr("*?[]\\", *name) != NULL)
            text[length++] = '\\';
        text[length++] = *name;
    }
    text[length] = '\0';
    return *name == '\0';
}

/* Of a ring with one process they are the ring's; of several each is asked for. */
static void count_ids(struct hosts *hosts, struct line *line)
{
    const char *ring = item_text(line->ring, "ring");
    long long pid = item_number(line->process, "pid");
    char target[FILTERS_TARGET_BYTES] = "/threads?trail=0&limit=1", pattern[QUERY_PATTERN_BYTES], number[32];

    if (json_array_size(json_object_get(line->ring, "processes")) < 2 &&
        json_is_object(json_object_get(line->ring, "counts"))) {
        line->counted = json_pack("{s:O}", "counts", json_object_get(line->ring, "counts"));
        return;
    }
    snprintf(number, sizeof(number), "%lld", pid);
    if (ring == NULL || !item_is(line->ring, "health", "readable") || !quote(pattern, sizeof(pattern), ring) ||
        client_target_add(target, sizeof(target), "ring", pattern) != 0 ||
        (pid > 0 && client_target_add(target, sizeof(target), "pid", number) != 0))
        return;
    line->counted = hosts_get_one(hosts, line->host, target, "ripd/threads/1");
}

/* ---- what is printed ---- */

static void fill_count(struct table_cell *cell, const struct line *line, const char *state, const char *other_state)
{
    long long count = frame_count(line->counted, state);

    if (other_state != NULL)
        count += frame_count(line->counted, other_state);
    if (line->counted == NULL)
        table_cell_format(cell, "-");
    else
        table_cell_format(cell, "%lld", count);
}

/* What is unusual about it. */
static void fill_remarks(struct table_cell *cell, const struct line *line)
{
    const char *health = item_text(line->ring, "health");
    const char *reason = item_text(line->ring, "reason");
    const char *coverage = item_text(line->ring, "coverage");
    const json_t *refused = json_object_get(line->ring, "refused");
    long long refused_count = 0;
    char text[512] = "";
    json_t *value;
    const char *key;
    size_t i;

    json_object_foreach((json_t *)(uintptr_t)refused, key,
                        value) if (item_number(refused, key) > 0 && refused_count < ITEM_NUMBER_MAX) refused_count +=
        item_number(refused, key);
    if (health != NULL && strcmp(health, "readable") != 0)
        text_append(text, sizeof(text), "; %s: %s", health, reason != NULL ? reason : "-");
    if (json_is_true(json_object_get(line->process, "dead")) || json_is_true(json_object_get(line->ring, "dead")))
        text_append(text, sizeof(text), "; dead");
    if (json_is_true(json_object_get(line->ring, "unlinked")))
        text_append(text, sizeof(text), "; its file is removed");
    if (json_is_false(json_object_get(line->process, "attested")) &&
        !json_is_true(json_object_get(line->process, "dead")))
        text_append(text, sizeof(text), "; not attested");
    if (refused_count != 0)
        text_append(text, sizeof(text), "; %lld ids refused", refused_count);
    if (coverage != NULL && strcmp(coverage, "full") != 0)
        text_append(text, sizeof(text), "; coverage %s", coverage);
    json_array_foreach(json_object_get(line->ring, "coverage_reasons"), i, value) if (json_is_string(value))
        text_append(text, sizeof(text), "; %s", json_string_value(value));
    table_cell_format(cell, "%s", text[0] != '\0' ? text + strlen("; ") : "-");
    if (health != NULL && strcmp(health, "readable") != 0)
        cell->colour = TABLE_YELLOW;
}

/* For table_print_all(). */
static void fill_row(const struct table *table, struct table_cell *cells, const void *context, size_t nth)
{
    const struct lines *lines = context;
    const struct line *line = &lines->items[nth];
    json_t *item = json_pack("{s:O?}", "process", line->process);

    (void)table;
    if (hosts_named(lines->hosts))
        table_cell_format(cells++, "%s", hosts_name(lines->hosts, line->host));
    table_cell_value(&cells[RING], line->ring, "ring");
    item_fill_process(&cells[PROCESS], item);
    fill_count(&cells[RUNNING], line, "running", NULL);
    fill_count(&cells[IDLE], line, "idle", NULL);
    fill_count(&cells[STALLED], line, "stalled", NULL);
    fill_count(&cells[STOPPED], line, "stopped", NULL);
    fill_count(&cells[ENDED], line, "exited", "dead");
    if (frame_count(line->counted, "stalled") != 0)
        cells[STALLED].colour = TABLE_RED;
    fill_remarks(&cells[REMARKS], line);
    json_decref(item);
}

static void print_table(const struct lines *lines)
{
    const size_t skip = hosts_named(lines->hosts) ? 0 : 1;
    struct table table;

    table_init(&table, columns + skip, COLUMN_COUNT - skip, true);
    table_print_all(&table, lines->count, fill_row, lines);
    if (lines->left_out != 0)
        printf("%zu more; --ring and --pid choose\n", lines->left_out);
}

/* The rings, each with all its processes. */
static void print_json(const struct hosts *hosts)
{
    for (size_t host = 0; host < hosts_count(hosts); host++) {
        const json_t *rings = json_object_get(hosts_document(hosts, host), "rings");
        size_t i;
        json_t *ring;

        json_array_foreach(rings, i, ring) hosts_print_json(hosts, host, ring);
    }
}

static int list(struct hosts *hosts, const struct settings *settings)
{
    struct lines *lines = calloc(1, sizeof(*lines));
    int status;

    if (lines == NULL) {
        cli_error("ls: out of memory");
        return CLI_UNREACHABLE;
    }
    if (settings->hosts.json) {
        print_json(hosts);
    } else {
        lines->hosts = hosts;
        collect(lines);
        for (size_t i = 0; i < lines->count; i++)
            count_ids(hosts, &lines->items[i]);
        print_table(lines);
        if (lines->count == 0 && frame_answered(hosts) != 0)
            puts("no rings; `rip run COMMAND` makes one");
    }
    cli_flush();
    status = hosts_report(hosts);
    for (size_t i = 0; i < lines->count; i++)
        json_decref(lines->items[i].counted);
    free(lines);
    return status;
}

int cli_ls(int argc, char **argv)
{
    static struct settings settings = {.hosts.reads_rings = true};
    char target[FILTERS_TARGET_BYTES];
    struct hosts *hosts = NULL;
    size_t count = 0;
    int status;

    if (!cli_parse_words(&cli_ls_syntax, argc, argv, &settings, NULL, 0, &count, &status))
        return status;
    if (!filters_target(&settings.filters, "ls", "/rings?limit=10000", PARAMETERS, target))
        return CLI_USAGE;
    status = hosts_open(&hosts, &settings.hosts, "ls");
    if (status != CLI_OK)
        return status;
    hosts_get(hosts, target, "ripd/rings/1", "rings");
    status = list(hosts, &settings);
    hosts_close(hosts);
    return status;
}
