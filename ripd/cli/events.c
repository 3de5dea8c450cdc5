/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - `rip events`: begins and ends of stalls, as ripd tells them. Flags and help; the rest is in events_*.c.
 */
#include "cli/events.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

const char *const events_filter_names[6] = {"ring", "name", "pid", "cause", "min_ms", "kind"};

#define IN(field) offsetof(struct events_settings, field)

static const struct flag {
    const char *name;
    const char *value; /* NULL: takes none, and the field is a bool */
    size_t offset;
    const char *help;
} flags[] = {
    {"--url", "URL", IN(url), "http://HOST:PORT or unix:/PATH; else $RIPD_URL, else " CLIENT_URL_DEFAULT},
    {"--json", NULL, IN(json), "one JSON object on a line for each event"},
    {"--limit", "N", IN(limit), "at most the newest N of them (default 100, at most 10000); not with --follow"},
    {"--follow", NULL, IN(follow), "events as they happen, from now on, or after --since-id; comes back when cut off"},
    {"--since-id", "ID", IN(since_id), "only what came after the event EPOCH-SEQUENCE"},
    {"--exec", "CMD", IN(command), "with --follow: run by /bin/sh for each event, its JSON on standard input"},
    {"--state", "FILE", IN(state), "with --follow: keeps the last ID there, and goes on after it when run again"},
    {"--ring", "NAME", IN(filters[0]), "of this ring"},
    {"--name", "GLOB", IN(filters[1]), "of ids with such a name"},
    {"--pid", "PID", IN(filters[2]), "of this process"},
    {"--cause", "CAUSE", IN(filters[3]), "of this cause; of any other with a leading '!'"},
    {"--min-ms", "MS", IN(filters[4]), "of stalls at least that long"},
    {"--kind", "KIND", IN(filters[5]), "begin or end"},
};
#define FLAG_COUNT (sizeof(flags) / sizeof(flags[0]))

static void print_help(FILE *stream)
{
    fputs("usage: rip events [FLAG...]\n"
          "\n"
          "Begins and ends of stalls that ripd has seen, oldest first.\n"
          "\n",
          stream);
    for (size_t i = 0; i < FLAG_COUNT; i++)
        fprintf(stream, "  %-10s %-5s %s\n", flags[i].name, flags[i].value != NULL ? flags[i].value : "",
                flags[i].help);
    fputs("\n"
          "exit status: 0, also when stopped by a signal; 1 ripd could not be reached; 2 a wrong flag or a question "
          "that\n"
          "ripd refuses; 3 its answer was not understood; 4 output or state could not be written\n",
          stream);
}

/* How many words of argv the flag at argv[0] takes: 1 or 2; 0 after an error message. */
static int take_flag(int argc, char **argv, struct events_settings *settings)
{
    const char *equals = strchr(argv[0], '=');
    size_t length = equals != NULL ? (size_t)(equals - argv[0]) : strlen(argv[0]);

    for (size_t i = 0; i < FLAG_COUNT; i++) {
        void *field = (char *)settings + flags[i].offset;

        if (strlen(flags[i].name) != length || memcmp(flags[i].name, argv[0], length) != 0)
            continue;
        if (flags[i].value == NULL && equals != NULL) {
            cli_error("events: %s: takes no value", flags[i].name);
            return 0;
        }
        if (flags[i].value != NULL && equals == NULL && argc < 2) {
            cli_error("events: %s: expected a value: %s %s", flags[i].name, flags[i].name, flags[i].value);
            return 0;
        }
        if (flags[i].value == NULL)
            *(bool *)field = true;
        else
            *(const char **)field = equals != NULL ? equals + 1 : argv[1];
        return flags[i].value != NULL && equals == NULL ? 2 : 1;
    }
    cli_error("events: %.*s: unknown flag or word; `rip events --help` lists them", (int)(length < 100 ? length : 100),
              argv[0]);
    return 0;
}

/* False, after one line on stderr: the flags do not go together. */
static bool check(const struct events_settings *settings)
{
    uint64_t sequence;

    if (settings->since_id != NULL && !events_id_valid(settings->since_id, &sequence)) {
        cli_error("events: --since-id: '%.64s' is no id; expected EPOCH-SEQUENCE, 16 hexadecimal digits and a number",
                  settings->since_id);
        return false;
    }
    if (!settings->follow && (settings->command != NULL || settings->state != NULL)) {
        cli_error("events: %s: expected together with --follow", settings->command != NULL ? "--exec" : "--state");
        return false;
    }
    if ((settings->command != NULL && *settings->command == '\0') ||
        (settings->state != NULL && *settings->state == '\0')) {
        cli_error("events: %s: expected something",
                  settings->state != NULL && *settings->state == '\0' ? "--state" : "--exec");
        return false;
    }
    if (settings->follow && settings->limit != NULL) {
        cli_error("events: --limit: expected without --follow");
        return false;
    }
    return true;
}

bool events_target(const struct events_settings *settings, char *target)
{
    snprintf(target, EVENTS_TARGET_BYTES, "/events");
    for (size_t i = 0; i < sizeof(events_filter_names) / sizeof(events_filter_names[0]); i++)
        if (settings->filters[i] != NULL &&
            client_target_add(target, EVENTS_TARGET_BYTES, events_filter_names[i], settings->filters[i]) != 0)
            goto too_long;
    if (settings->limit != NULL && client_target_add(target, EVENTS_TARGET_BYTES, "limit", settings->limit) != 0)
        goto too_long;
    return true;
too_long:
    cli_error("events: the filters are too long; expected at most %u bytes of them", EVENTS_TARGET_BYTES);
    return false;
}

int events_status(enum client_result result)
{
    static const int statuses[] = {
        [CLIENT_OK] = CLI_OK,         [CLIENT_UNREACHABLE] = CLI_UNREACHABLE,
        [CLIENT_REFUSED] = CLI_USAGE, [CLIENT_NOT_UNDERSTOOD] = CLI_ANSWER,
        [CLIENT_STOPPED] = CLI_OK,
    };

    if (statuses[result] != CLI_OK)
        cli_error("events: %s", client_error());
    return statuses[result];
}

int cli_events(int argc, char **argv)
{
    struct events_settings settings = {.url = NULL};
    struct client *client;
    enum client_result result;
    int status;

    for (int next = 1; next < argc;) {
        int taken;

        if (strcmp(argv[next], "--help") == 0 || strcmp(argv[next], "-h") == 0) {
            print_help(stdout);
            return CLI_OK;
        }
        taken = take_flag(argc - next, argv + next, &settings);
        if (taken == 0)
            return CLI_USAGE;
        next += taken;
    }
    if (!check(&settings))
        return CLI_USAGE;
    signal(SIGPIPE, SIG_IGN); /* a reader that goes is told apart from one that never was */
    result = client_new(&client, settings.url);
    if (result != CLIENT_OK)
        return events_status(result);
    status = settings.follow ? events_follow(client, &settings) : events_list(client, &settings);
    client_free(client);
    return status;
}
