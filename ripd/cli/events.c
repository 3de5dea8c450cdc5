/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - `rip events`: begins and ends of stalls, of one host or of several: as a list here, as they happen in
 * event_follow.c.
 *
 * Guarantees
 *   A. A wrong flag or value is refused before ripd is asked, by the rules of ripd itself.
 *   B. The list has the newest of all hosts, in the order of their times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cases/event_kind.h"
#include "cases/query.h"
#include "cli/cli.h"
#include "cli/event_follow.h"
#include "cli/event_id.h"
#include "cli/event_table.h"
#include "cli/filters.h"
#include "cli/frame.h"
#include "cli/hosts.h"
#include "cli/item.h"
#include "util/array.h"

/* NULL: not given. */
struct settings {
    struct hosts_options hosts;
    struct filters filters;
    const char *since_id;
    const char *command;
    const char *state;
    bool follow;
};

static const struct cli_flag flags[] = {
    HOSTS_URL_FLAGS,
    HOSTS_JSON_FLAG,
    CLI_FLAG("--follow", NULL, CLI_SWITCH, follow,
             "events as they happen, from now on or after --since-id; reconnects"),
    CLI_FLAG("--since-id", "ID", CLI_TEXT, since_id, "only events after EPOCH-SEQUENCE; of one host"),
    CLI_FLAG("--exec", "CMD", CLI_TEXT, command,
             "with --follow: run by /bin/sh for each event, its JSON on standard input"),
    CLI_FLAG("--state", "FILE", CLI_TEXT, state,
             "with --follow: keeps the last ID there, and continues after it when run again; of one host"),
    FILTERS_EVENT_FLAGS,
};

static const char values[] = FILTER_VALUES "KIND is one of:" EVENT_KIND_TABLE(FILTER_WORD) "\n";

const struct cli_syntax cli_events_syntax = {
    .name = "events",
    .usage = "usage: rip events [FLAG...]\n"
             "\n"
             "Begins and ends of stalls that ripd has seen, oldest first.\n"
             "\n",
    .values = values,
    .notes =
        "\n"
        "exit status: 0, also when stopped by a signal; 1 a ripd does not answer; 2 wrong flag, or a request that\n"
        "ripd refuses; 3 an answer is not one of ripd's; 4 output or state could not be written\n",
    CLI_FLAGS(flags),
};

/* False after an error message: a flag's value is wrong, or flags contradict each other. */
static bool check_flags(const struct settings *settings)
{
    const bool several = settings->hosts.urls.count > 1;
    uint64_t sequence;
    const struct {
        bool wrong;
        const char *message;
    } faults[] = {
        {settings->command != NULL && *settings->command == '\0', "--exec: expected a command"},
        {settings->state != NULL && *settings->state == '\0', "--state: expected a file"},
        {settings->command != NULL && !settings->follow, "--exec: expected together with --follow"},
        {settings->state != NULL && !settings->follow, "--state: expected together with --follow"},
        {settings->filters.values[FILTER_LIMIT] != NULL && settings->follow, "--limit: expected without --follow"},
        {settings->filters.values[FILTER_SINCE] != NULL && settings->follow, "--since: expected without --follow"},
        {settings->since_id != NULL && several, "--since-id: expected with one --url: each host has ids of its own"},
        {settings->state != NULL && several, "--state: expected with one --url: each host has ids of its own"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(faults); i++)
        if (faults[i].wrong)
            return cli_error("%s", faults[i].message);
    if (settings->since_id == NULL || event_id_parse(settings->since_id, &sequence))
        return true;
    return cli_error("--since-id: '%.64s' is not an id; expected EPOCH-SEQUENCE, 16 hexadecimal digits and a number",
                     settings->since_id);
}

/* ---- the list ---- */

/* Removes the events up to since_id; false: there are none. Warns if that id is of another history. */
static bool remove_older(const json_t *document, const char *since_id)
{
    json_t *events = json_object_get(document, "events");
    const char *epoch = item_text(document, "epoch");
    size_t before = json_array_size(events);
    uint64_t since = 0;

    if (document == NULL || since_id == NULL || !event_id_parse(since_id, &since))
        return false;
    if (epoch == NULL || strncasecmp(since_id, epoch, strlen(epoch)) != 0)
        return cli_error("--since-id: '%s' is of another history; all events that ripd holds follow", since_id);
    for (size_t i = json_array_size(events); i-- > 0;)
        if (json_integer_value(json_object_get(json_array_get(events, i), "sequence")) <= (json_int_t)since)
            json_array_remove(events, i);
    return json_array_size(events) < before;
}

static const char *time_of(const json_t *event)
{
    const char *at = item_text(event, "at");

    return at != NULL ? at : "";
}

/* The newest of all hosts at the end of rows, oldest first; each host has its own newest first. Returns how many. */
static size_t merge(const struct hosts *hosts, size_t *next, struct list_row *rows, size_t limit)
{
    size_t count = 0;

    while (count < limit) {
        struct list_row newest = {.item = NULL};

        for (size_t i = 0; i < hosts_count(hosts); i++) {
            const json_t *event = json_array_get(json_object_get(hosts_document(hosts, i), "events"), next[i]);

            if (event != NULL && (newest.item == NULL || strcmp(time_of(event), time_of(newest.item)) > 0))
                newest = (struct list_row){.item = event, .host = i};
        }
        if (newest.item == NULL)
            break;
        next[newest.host]++;
        rows[limit - ++count] = newest;
    }
    return count;
}

/* Events that are there and that the request did not bring, or the limit left out. */
static void report_older(const struct hosts *hosts, size_t shown)
{
    long long older = -(long long)shown;

    for (size_t i = 0; i < hosts_count(hosts); i++)
        older += frame_total(hosts_document(hosts, i));
    if (older > 0)
        cli_error("%lld older events are not shown; --limit shows more", older);
}

static int list_events(struct hosts *hosts, const struct settings *settings, const char *target)
{
    const char *given = settings->filters.values[FILTER_LIMIT];
    const size_t limit = given != NULL ? strtoul(given, NULL, 10) : QUERY_LIMIT_DEFAULT;
    struct list_row *rows = calloc(limit, sizeof(*rows));
    size_t *next = calloc(hosts_count(hosts), sizeof(*next)), count;
    int status = CLI_UNREACHABLE;
    struct list list;
    bool removed;

    if (rows == NULL || next == NULL) {
        cli_error("out of memory");
        goto out;
    }
    hosts_get(hosts, target, "ripd/events/1", "events");
    removed = remove_older(hosts_document(hosts, 0), settings->since_id); /* an id is of one host */
    count = merge(hosts, next, rows, limit);
    event_table_init(&list, hosts, settings->hosts.json, true);
    list_print(&list, rows + limit - count, sizeof(*rows), count);
    cli_flush();
    if (!removed)
        report_older(hosts, count);
    status = hosts_report(hosts);
out:
    free(rows);
    free(next);
    return status;
}

int cli_events(int argc, char **argv)
{
    static struct settings settings;
    char target[FILTERS_TARGET_BYTES];
    struct hosts *hosts = NULL;
    int status;

    if (!cli_parse_words(&cli_events_syntax, argc, argv, &settings, NULL, 0, NULL, &status))
        return status;
    if (!check_flags(&settings) || !filters_target(&settings.filters, "/events", target))
        return CLI_USAGE;
    status = hosts_open(&hosts, &settings.hosts);
    if (status != CLI_OK)
        return status;
    if (settings.follow) {
        const struct event_follow_options options = {target, settings.since_id, settings.command, settings.state,
                                                     settings.hosts.json};

        status = event_follow(hosts, &options);
    } else {
        status = list_events(hosts, &settings, target);
    }
    hosts_close(hosts);
    return status;
}
