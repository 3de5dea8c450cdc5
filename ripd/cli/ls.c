/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ls.c - `rip ls`: the rings and their processes, with how many ids are in which state.
 *
 * Guarantees
 *   A. A ring that cannot be read is listed, with the reason.
 *   B. A count that is not known is never shown as 0. Lines beyond LINES_MAX are left out, and their number is shown.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/query.h"
#include "cli/cli.h"
#include "cli/filters.h"
#include "cli/hosts.h"
#include "cli/item.h"
#include "cli/list.h"
#include "cli/table.h"
#include "util/array.h"
#include "util/text.h"

#define LINES_MAX 200u /* each may be a request of its own for its counts */

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

/* A process of a ring; a ring without one has a line, too. */
struct line {
    struct list_row row; /* what the columns show: made of the ring, the process and the counts */
    const json_t *ring;
    const json_t *process; /* NULL: it has none, or cannot be read */
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
        lines->items[lines->count++] = (struct line){{NULL, host}, ring, process};
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

/* A document whose frame has the counts of a line; NULL: not known. A ring with several processes takes a request each.
 */
static json_t *count_ids(struct hosts *hosts, const struct line *line)
{
    const char *ring = item_text(line->ring, "ring");
    long long pid = item_number(line->process, "pid");
    char target[FILTERS_TARGET_BYTES] = "/threads?trail=0&limit=1", pattern[QUERY_PATTERN_BYTES], number[32];

    if (json_array_size(json_object_get(line->ring, "processes")) < 2 &&
        json_is_object(json_object_get(line->ring, "counts")))
        return json_incref((json_t *)(uintptr_t)line->ring);
    snprintf(number, sizeof(number), "%lld", pid);
    if (ring == NULL || !item_is(line->ring, "health", "readable") || !filters_quote(pattern, sizeof(pattern), ring) ||
        client_target_add(target, sizeof(target), "ring", pattern) != 0 ||
        (pid > 0 && client_target_add(target, sizeof(target), "pid", number) != 0))
        return NULL;
    return hosts_get_one(hosts, line->row.host, target, "ripd/threads/1");
}

/* counted: a reference, which is dropped; NULL = no counts are known. */
static json_t *make_item(const struct line *line, json_t *counted)
{
    json_t *item = json_pack("{s:O?, s:O?}", "ring", json_object_get(line->ring, "ring"), "process", line->process);

    for (int state = 0; counted != NULL && state < ID_STATE_COUNT; state++) {
        const char *name = id_state_name((enum id_state)state);

        json_object_set_new(item, name, json_integer(frame_count(counted, name)));
    }
    if (counted != NULL)
        json_object_set_new(item, "ended", json_integer(frame_count(counted, "exited") + frame_count(counted, "dead")));
    json_decref(counted);
    return item;
}

/* What is unusual about it; "" if nothing is. */
static void format_remarks(char *text, size_t size, const struct line *line)
{
    const char *health = item_text(line->ring, "health"), *reason = item_text(line->ring, "reason");
    const char *coverage = item_text(line->ring, "coverage"), *key;
    bool is_dead = json_is_true(json_object_get(line->process, "dead"));
    long long refused_count = 0;
    json_t *value;
    size_t i;

    json_object_foreach(json_object_get(line->ring, "refused"), key, value) if (json_is_integer(value) &&
                                                                                json_integer_value(value) > 0 &&
                                                                                refused_count < ITEM_NUMBER_MAX)
        refused_count += item_number(json_object_get(line->ring, "refused"), key);
    if (health != NULL && strcmp(health, "readable") != 0)
        text_append(text, size, "; %s: %s", health, reason != NULL ? reason : "-");
    if (is_dead || json_is_true(json_object_get(line->ring, "dead")))
        text_append(text, size, "; dead");
    if (json_is_true(json_object_get(line->ring, "unlinked")))
        text_append(text, size, "; its file is removed");
    if (json_is_false(json_object_get(line->process, "attested")) && !is_dead)
        text_append(text, size, "; not attested");
    if (refused_count != 0)
        text_append(text, size, "; %lld ids refused", refused_count);
    if (coverage != NULL && strcmp(coverage, "full") != 0)
        text_append(text, size, "; coverage %s", coverage);
    json_array_foreach(json_object_get(line->ring, "coverage_reasons"), i, value) if (json_is_string(value))
        text_append(text, size, "; %s", json_string_value(value));
}

/* ---- what is printed ---- */

static void fill_stalled(struct table_cell *cell, const json_t *item)
{
    table_cell_value(cell, item, "stalled");
    if (item_number(item, "stalled") > 0)
        cell->colour = TABLE_RED;
}

static void fill_remarks(struct table_cell *cell, const struct list_row *row, const struct table *table)
{
    const struct line *line = (const struct line *)row;
    char text[512] = "";

    (void)table;
    format_remarks(text, sizeof(text), line);
    table_cell_format(cell, "%s", text[0] != '\0' ? text + strlen("; ") : "-");
    if (item_text(line->ring, "health") != NULL && !item_is(line->ring, "health", "readable"))
        cell->colour = TABLE_YELLOW;
}

static void print_table(struct lines *lines)
{
    static const struct table_column columns[] = {
        {"RING", 8, 28, .key = "ring"},
        {"PROCESS", 8, 28, .fill = item_fill_process},
        {"RUNNING", 7, 9, true, .key = "running"},
        {"IDLE", 4, 9, true, .key = "idle"},
        {"STALLED", 7, 9, true, .fill = fill_stalled},
        {"STOPPED", 7, 9, true, .key = "stopped"},
        {"ENDED", 5, 9, true, .key = "ended"},
        {"REMARKS", 0, TEXT_ANY_COLUMNS, .fill_row = fill_remarks},
    };
    struct list list;

    for (size_t i = 0; i < lines->count; i++) {
        struct line *line = &lines->items[i];

        line->row.item = make_item(line, count_ids(lines->hosts, line));
    }
    list_init(&list, lines->hosts, false, columns, ARRAY_COUNT(columns), true);
    list_print(&list, lines->items, sizeof(lines->items[0]), lines->count);
    if (lines->left_out != 0)
        printf("%zu more; --ring and --pid choose\n", lines->left_out);
}

static int list_rings(struct hosts *hosts, const struct settings *settings)
{
    struct lines *lines = calloc(1, sizeof(*lines));
    int status;

    if (lines == NULL)
        return cli_fail(CLI_UNREACHABLE, "out of memory");
    if (settings->hosts.json) {
        hosts_print_each(hosts, "rings");
    } else {
        lines->hosts = hosts;
        collect(lines);
        print_table(lines);
        if (lines->count == 0 && frame_answered(hosts) != 0)
            puts(settings->filters.values[FILTER_RING] == NULL && settings->filters.values[FILTER_PID] == NULL
                     ? "no rings; `rip run COMMAND` makes one"
                     : "no such rings");
    }
    cli_flush();
    status = hosts_report(hosts);
    for (size_t i = 0; i < lines->count; i++)
        json_decref((json_t *)(uintptr_t)lines->items[i].row.item);
    free(lines);
    return status;
}

int cli_ls(int argc, char **argv)
{
    static struct settings settings = {.hosts.reads_rings = true};
    char target[FILTERS_TARGET_BYTES];
    struct hosts *hosts = NULL;
    int status;

    if (!cli_parse_words(&cli_ls_syntax, argc, argv, &settings, NULL, 0, NULL, &status))
        return status;
    if (!filters_target(&settings.filters, "/rings?limit=10000", target))
        return CLI_USAGE;
    status = hosts_open(&hosts, &settings.hosts);
    if (status != CLI_OK)
        return status;
    hosts_get(hosts, target, "ripd/rings/1", "rings");
    status = list_rings(hosts, &settings);
    hosts_close(hosts);
    return status;
}
