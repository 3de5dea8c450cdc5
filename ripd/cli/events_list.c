/* SPDX-License-Identifier: Apache-2.0 */
/* events_list.c - `rip events` without --follow: what is held, oldest first. Prints on standard output. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/events.h"

/* The one control character that jansson does not escape. */
static int print_escaped(const char *bytes, size_t count, void *context)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        if ((bytes[i] == 0x7f ? fputs("\\u007f", stdout) : putchar(bytes[i])) == EOF)
            return -1;
    return 0;
}

void events_print_json(const struct text_style *style, const json_t *event)
{
    /* what is harmless in a file may not be on a terminal */
    size_t flags = JSON_COMPACT | (style->columns != TEXT_ANY_COLUMNS ? JSON_ENSURE_ASCII : 0);

    json_dump_callback(event, print_escaped, NULL, flags);
    putchar('\n');
}

/* Takes out what comes before since_id, newest first as the list is. Says so if that is of another history. */
static void cut_before(json_t *events, const char *epoch, const char *since_id)
{
    uint64_t since = 0;

    if (!events_id_valid(since_id, &since))
        return;
    if (epoch == NULL || strncasecmp(since_id, epoch, strlen(epoch)) != 0) {
        cli_error("events: --since-id: '%s' is of another history; all that is held follows", since_id);
        return;
    }
    for (size_t i = json_array_size(events); i-- > 0;)
        if (json_integer_value(json_object_get(json_array_get(events, i), "sequence")) <= (json_int_t)since)
            json_array_remove(events, i);
}

/* Oldest first. */
static json_t *turned(const json_t *events)
{
    json_t *result = json_array();

    for (size_t i = json_array_size(events); i-- > 0 && result != NULL;)
        if (json_array_append(result, json_array_get(events, i)) != 0) {
            json_decref(result);
            result = NULL;
        }
    return result;
}

static void print_all(const struct events_settings *settings, const json_t *events)
{
    struct events_table table;
    size_t index;
    json_t *event;

    events_table_init(&table, events);
    if (!settings->json && json_array_size(events) != 0)
        events_table_head(&table);
    json_array_foreach((json_t *)(uintptr_t)events, index, event)
    {
        if (settings->json)
            events_print_json(&table.style, event);
        else
            events_table_row(&table, event);
    }
}

int events_list(struct client *client, const struct events_settings *settings)
{
    char target[EVENTS_TARGET_BYTES];
    json_t *document = NULL, *events, *ordered;
    enum client_result result;
    json_int_t total, returned;

    if (!events_target(settings, target))
        return CLI_USAGE;
    result = client_get(client, target, "events", &document);
    if (result != CLIENT_OK)
        return events_status(result);
    events = json_object_get(document, "events");
    if (!json_is_array(events)) {
        json_decref(document);
        cli_error("events: %s: not an answer of ripd's: no list of events", client_url(client));
        return CLI_ANSWER;
    }
    total = json_integer_value(json_object_get(document, "total"));
    returned = (json_int_t)json_array_size(events);
    if (settings->since_id != NULL)
        cut_before(events, json_string_value(json_object_get(document, "epoch")), settings->since_id);
    ordered = turned(events);
    if (ordered == NULL) {
        json_decref(document);
        cli_error("events: out of memory");
        return CLI_ANSWER;
    }
    if (total > returned && (size_t)returned == json_array_size(ordered))
        cli_error("events: %" JSON_INTEGER_FORMAT " older events are not shown; --limit shows more", total - returned);
    print_all(settings, ordered);
    json_decref(ordered);
    json_decref(document);
    return CLI_OK;
}
