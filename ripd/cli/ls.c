/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ls.c - `rip ls`: lists rings and their processes, with the number of ids in each state.
 *
 * Guarantees
 *   A. A ring that cannot be read is listed, with the reason.
 *   B. An unknown count is never shown as 0. At most LINES_MAX lines are printed; the number of omitted lines is shown.
 */
#include <stdio.h>
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

#define LINES_MAX 200u /* each may take a request for its counts */

struct settings {
    struct hosts_options hosts;
    struct filters filters;
};

static struct settings settings = {.hosts.reads_rings = true};

static const struct cli_flag flags[] = {
    HOSTS_FLAGS,
    HOSTS_DIR_FLAG,
    CLI_FLAG("--ring", "RING", CLI_TEXT, filters.values[FILTER_RING], "only this ring"),
    CLI_FLAG("--pid", "PID", CLI_TEXT, filters.values[FILTER_PID], "only rings of this process"),
};

const struct cli_syntax cli_ls_syntax = {
    .name = "ls",
    .usage = "usage: rip ls [FLAG...]\n"
             "\n"
             "Lists rings and their processes, with the number of ids in each state.\n"
             "\n",
    .notes = "\n"
             "exit status: 0; 1 a ripd does not answer; 2 wrong flag, or a request that ripd refuses; 3 an answer is\n"
             "not from ripd; 4 output could not be written\n",
    CLI_FLAGS(flags),
};

/*
 * Returns a document whose frame has the counts of a process of a ring, or of a ring without processes; NULL: not
 * known. If there are several processes, each takes a request.
 */
static json_t *count_ids(size_t host, json_t *ring, const json_t *process)
{
    const char *name = item_text(ring, "ring");
    long long pid = item_number(process, "pid");
    char target[FILTERS_TARGET_BYTES] = "/threads?trail=0&limit=1", pattern[QUERY_PATTERN_BYTES], number[32];

    if (json_array_size(json_object_get(ring, "processes")) < 2 && json_is_object(json_object_get(ring, "counts")))
        return json_incref(ring);
    snprintf(number, sizeof(number), "%lld", pid);
    if (name == NULL || !item_is(ring, "health", "readable") || !filters_quote(pattern, sizeof(pattern), name) ||
        !client_target_add(target, sizeof(target), "ring", pattern) ||
        (pid > 0 && !client_target_add(target, sizeof(target), "pid", number)))
        return NULL;
    return hosts_get_one(host, target, "ripd/threads/1");
}

/* Writes what is unusual; empty if nothing is. */
static void fill_remarks(struct table_cell *cell, const json_t *ring, const json_t *process)
{
    const char *health = item_text(ring, "health"), *reason = item_text(ring, "reason");
    const char *coverage = item_text(ring, "coverage"), *key;
    bool is_dead = json_is_true(json_object_get(process, "dead"));
    long long refused_count = 0;
    json_t *value;
    size_t i;

    table_cell_clear(cell);
    json_object_foreach(json_object_get(ring, "refused"), key, value)
    {
        const long long count = item_number(json_object_get(ring, "refused"), key);

        if (count > 0 && refused_count < ITEM_NUMBER_MAX)
            refused_count += count;
    }
    if (health != NULL && strcmp(health, "readable") != 0)
        table_cell_add(cell, "; %s: %s", health, reason != NULL ? reason : "-");
    if (is_dead || json_is_true(json_object_get(ring, "dead")))
        table_cell_add(cell, "; dead");
    if (json_is_true(json_object_get(ring, "unlinked")))
        table_cell_add(cell, "; its file is removed");
    if (json_is_false(json_object_get(process, "attested")) && !is_dead)
        table_cell_add(cell, "; not attested");
    if (refused_count != 0)
        table_cell_add(cell, "; %lld ids refused", refused_count);
    if (coverage != NULL && strcmp(coverage, "full") != 0)
        table_cell_add(cell, "; coverage %s", coverage);
    json_array_foreach(json_object_get(ring, "coverage_reasons"), i, value)
    {
        if (json_is_string(value))
            table_cell_add(cell, "; %s", json_string_value(value));
    }
}

/* Makes the item for the columns of a process of a ring. process NULL: the ring has none, or cannot be read. */
static json_t *make_item(size_t host, json_t *ring, json_t *process)
{
    json_t *item = json_pack("{s:O?, s:O?, s:O?}", "ring", json_object_get(ring, "ring"), "process", process, "health",
                             json_object_get(ring, "health"));
    json_t *counted = count_ids(host, ring, process);
    struct frame frame = {.answered = 0};
    struct table_cell remarks;

    frame_add(&frame, counted);
    for (int state = 0; counted != NULL && state < ID_STATE_COUNT; state++)
        json_object_set_new(item, id_state_name((enum id_state)state), json_integer(frame.counts[state]));
    if (counted != NULL)
        json_object_set_new(item, "ended", json_integer(frame.counts[ID_EXITED] + frame.counts[ID_DEAD]));
    json_decref(counted);
    fill_remarks(&remarks, ring, process);
    if (remarks.bytes != 0)
        json_object_set_new(item, "remarks", json_string(remarks.text + strlen("; ")));
    return item;
}

/* Returns how many lines were omitted. */
static size_t collect(struct list *list)
{
    size_t left_out = 0, i;
    json_t *ring;

    for (size_t host = 0; host < hosts_count(); host++)
        json_array_foreach(json_object_get(hosts_document(host), "rings"), i, ring)
        {
            const json_t *processes = json_object_get(ring, "processes");
            const size_t lines = json_array_size(processes) != 0 ? json_array_size(processes) : 1;

            for (size_t j = 0; j < lines; j++)
                if (list->count == LINES_MAX)
                    left_out++;
                else
                    list_add(list, host, make_item(host, ring, json_array_get(processes, j)));
        }
    return left_out;
}

/* ---- output ---- */

static void fill_stalled(struct table_cell *cell, const json_t *count)
{
    table_cell_value(cell, count);
    if (json_integer_value(count) > 0)
        cell->colour = TABLE_RED;
}

static void fill_item_remarks(struct table_cell *cell, const json_t *item)
{
    table_cell_value(cell, json_object_get(item, "remarks"));
    if (item_text(item, "health") != NULL && !item_is(item, "health", "readable"))
        cell->colour = TABLE_YELLOW;
}

static void report_no_ring(void)
{
    const bool all = settings.filters.values[FILTER_RING] == NULL && settings.filters.values[FILTER_PID] == NULL;
    const struct cli_list *directories = hosts_directories();
    char places[4096] = "";

    for (size_t i = 0; hosts_are_local() && i < directories->count; i++)
        text_append(places, sizeof(places), "%s%.200s", i == 0 ? " in " : " or ", directories->values[i]);
    text_make_printable(places);
    printf("no %srings%s%s\n", all ? "" : "such ", places, all ? "; `rip run COMMAND` makes one" : "");
}

static int list_rings(void)
{
    static const struct table_column columns[] = {
        {"RING", 8, 28, .key = "ring"},
        {"PROCESS", 8, 28, .fill = item_fill_process},
        {"RUNNING", 7, 9, true, .key = "running"},
        {"IDLE", 4, 9, true, .key = "idle"},
        {"STALLED", 7, 9, true, .key = "stalled", .fill = fill_stalled},
        {"STOPPED", 7, 9, true, .key = "stopped"},
        {"ENDED", 5, 9, true, .key = "ended"},
        {"REMARKS", 0, TEXT_ANY_COLUMNS, .fill = fill_item_remarks},
    };
    struct list list;
    size_t left_out = 0;
    int status;

    list_init(&list, true, settings.hosts.json, columns, ARRAY_COUNT(columns));
    if (settings.hosts.json)
        list_add_each(&list, "rings");
    else
        left_out = collect(&list);
    list_print(&list, 0, list.count);
    if (left_out != 0)
        printf("%zu more line%s; --ring and --pid select\n", left_out, left_out == 1 ? "" : "s");
    if (!settings.hosts.json && list.count == 0 && frame_of().answered != 0)
        report_no_ring();
    cli_flush();
    status = hosts_report();
    list_done(&list);
    return status;
}

int cli_ls(char **words)
{
    char target[FILTERS_TARGET_BYTES];
    int status;

    (void)words;
    if (!filters_target(&settings.filters, "/rings?limit=10000", target))
        return CLI_USAGE;
    status = hosts_open(&settings.hosts);
    if (status != CLI_OK)
        return status;
    hosts_get(target, "ripd/rings/1", "rings");
    return list_rings();
}
