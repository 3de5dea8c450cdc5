/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - `rip events`: begins and ends of stalls, as a list, as they happen, or handed to a command.
 *
 * Guarantees
 *   A. A wrong flag or value is refused before ripd is asked, by the rules of ripd itself.
 *   B. --follow reconnects with the id of the last event it has handled: it gets every event that ripd still holds, and
 *      reports those that ripd no longer holds.
 *   C. With --state the id is stored when its event has been handled, not before: across restarts every event reaches
 *      the command at least once, and twice only if the follower was stopped in the middle of it.
 *   D. While a command runs nothing is read: ripd's history is the queue. If ripd drops the stream meanwhile, B holds.
 *   E. One command runs at a time, for COMMAND_LIMIT_NS at most; its process group ends with it.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cases/event_kind.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/event_id.h"
#include "cli/event_stream.h"
#include "cli/item.h"
#include "cli/table.h"
#include "detect/state.h"
#include "os/clock.h"
#include "os/spawn.h"
#include "util/time_limit.h"
#include "view/query_parse.h"

#define TARGET_BYTES 4096u
#define COMMAND_LIMIT_NS UINT64_C(30000000000) /* then SIGTERM to its process group, */
#define COMMAND_GRACE_NS UINT64_C(5000000000)  /* then SIGKILL */
#define COMMAND_POLL_MS 100                    /* where no descriptor reports its end */
#define SILENCE_NS UINT64_C(60000000000)       /* ripd sends a comment every 15 s */
#define BACKOFF_NS UINT64_C(250000000)         /* before the first reconnection; doubles */
#define BACKOFF_MAX_NS UINT64_C(10000000000)

/* Parameters of /events, each a flag of the same name. */
enum parameter { RING, NAME, PID, UNIT, CONTAINER, CAUSE, MIN_MS, KIND, SINCE, LIMIT, PARAMETER_COUNT };
static const char *const parameter_names[] = {"ring",  "name",   "pid",  "unit",  "container",
                                              "cause", "min_ms", "kind", "since", "limit"};
#define PARAMETERS                                                                                                     \
    (PARAMETER_RING | PARAMETER_NAME | PARAMETER_PID | PARAMETER_CAUSE | PARAMETER_MIN_MS | PARAMETER_KIND |           \
     PARAMETER_UNIT | PARAMETER_CONTAINER | PARAMETER_SINCE | PARAMETER_LIMIT)

/* NULL: not given. */
struct settings {
    const char *url;
    const char *since_id;
    const char *command;
    const char *state;
    const char *values[PARAMETER_COUNT];
    bool json;
    bool follow;
};

#define IN(field) offsetof(struct settings, field)
static const struct cli_flag flags[] = {
    {"--url", "URL", IN(url), "http://HOST:PORT or unix:/PATH; else $RIPD_URL, else " CLIENT_URL_DEFAULT, false},
    {"--json", NULL, IN(json), "one JSON object on a line for each event", false},
    {"--limit", "N", IN(values[LIMIT]), "at most the newest N (default 100, at most 10000); not with --follow", false},
    {"--since", "TIME", IN(values[SINCE]), "since then, or for so long: 2026-11-20T09:00:00Z, 10m; not with --follow",
     false},
    {"--follow", NULL, IN(follow), "events as they happen, from now on or after --since-id; reconnects", false},
    {"--since-id", "ID", IN(since_id), "only events after EPOCH-SEQUENCE", false},
    {"--exec", "CMD", IN(command), "with --follow: run by /bin/sh for each event, its JSON on standard input", false},
    {"--state", "FILE", IN(state), "with --follow: keeps the last ID there, and continues after it when run again",
     false},
    {"--ring", "RING", IN(values[RING]), "of this ring", false},
    {"--name", "GLOB", IN(values[NAME]), "of ids whose name matches", false},
    {"--pid", "PID", IN(values[PID]), "of this process", false},
    {"--unit", "GLOB", IN(values[UNIT]), "of processes of such a systemd unit", false},
    {"--container", "GLOB", IN(values[CONTAINER]), "of processes of such a container", false},
    {"--cause", "CAUSE", IN(values[CAUSE]), "of this cause; with a leading '!', of any other", false},
    {"--min-ms", "MS", IN(values[MIN_MS]), "of stalls at least that long", false},
    {"--kind", "KIND", IN(values[KIND]), "begin or end", false},
};

#define X(name, text, meaning) " " text
static const char values[] = "\nCAUSE is one of:" ID_CAUSE_TABLE(X) "\nKIND is one of:" EVENT_KIND_TABLE(X) "\n";
#undef X

const struct cli_syntax cli_events_syntax = {
    .name = "events",
    .usage = "usage: rip events [FLAG...]\n"
             "\n"
             "Begins and ends of stalls that ripd has seen, oldest first.\n"
             "\n",
    .values = values,
    .notes =
        "\n"
        "exit status: 0, also when stopped by a signal; 1 ripd does not answer; 2 wrong flag, or a request that ripd\n"
        "refuses; 3 the answer is not one of ripd's; 4 output or state could not be written\n",
    .flags = flags,
    .flags_count = sizeof(flags) / sizeof(flags[0]),
};

/* The exit status for a result, after an error message. */
static int status_of(enum client_result result)
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

/* False after an error message: a flag's value is wrong, or flags contradict each other. */
static bool check_flags(const struct settings *settings)
{
    uint64_t sequence;
    const struct {
        bool wrong;
        const char *message;
    } faults[] = {
        {settings->command != NULL && *settings->command == '\0', "--exec: expected a command"},
        {settings->state != NULL && *settings->state == '\0', "--state: expected a file"},
        {settings->command != NULL && !settings->follow, "--exec: expected together with --follow"},
        {settings->state != NULL && !settings->follow, "--state: expected together with --follow"},
        {settings->values[LIMIT] != NULL && settings->follow, "--limit: expected without --follow"},
        {settings->values[SINCE] != NULL && settings->follow, "--since: expected without --follow"},
    };

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (faults[i].wrong) {
            cli_error("events: %s", faults[i].message);
            return false;
        }
    if (settings->since_id == NULL || event_id_parse(settings->since_id, &sequence))
        return true;
    cli_error("events: --since-id: '%.64s' is not an id; expected EPOCH-SEQUENCE, 16 hexadecimal digits and a number",
              settings->since_id);
    return false;
}

/* /events with its parameters into target (TARGET_BYTES). False after an error message: ripd would refuse them. */
static bool make_target(const struct settings *settings, char *target)
{
    struct query_error error;
    struct query query;
    const char *text;

    snprintf(target, TARGET_BYTES, "/events");
    for (size_t i = 0; i < PARAMETER_COUNT; i++)
        if (settings->values[i] != NULL &&
            client_target_add(target, TARGET_BYTES, parameter_names[i], settings->values[i]) != 0) {
            cli_error("events: the values of flags are too long; expected at most %u bytes", TARGET_BYTES);
            return false;
        }
    text = strchr(target, '?');
    if (query_parse(text != NULL ? text + 1 : NULL, PARAMETERS, &query, &error) == 0)
        return true;
    for (char *at = error.parameter; *at != '\0'; at++)
        if (*at == '_')
            *at = '-';
    cli_error("events: --%s %s", error.parameter, error.detail);
    return false;
}

/* ---- what is printed of an event ---- */

enum column { COLUMN_TIME, COLUMN_EVENT, COLUMN_RING, COLUMN_ID, COLUMN_NAME, COLUMN_CAUSE, COLUMN_FOR, COLUMN_WHERE };
#define COLUMN_COUNT (COLUMN_WHERE + 1)

static const struct table_column columns[] = {
    [COLUMN_TIME] = {"TIME", 20, 24, false}, [COLUMN_EVENT] = {"EVENT", 5, 12, false},
    [COLUMN_RING] = {"RING", 16, 24, false}, [COLUMN_ID] = {"ID", 8, 10, true},
    [COLUMN_NAME] = {"NAME", 16, 24, false}, [COLUMN_CAUSE] = {"CAUSE", 10, 15, false},
    [COLUMN_FOR] = {"FOR", 7, 10, true},     [COLUMN_WHERE] = {"WHERE", 0, TEXT_ANY_COLUMNS, false},
};

/* "2026-11-20T09:41:07.120Z" without the fraction. */
static void fill_time(struct table_cell *cell, const json_t *value)
{
    const char *text = json_string_value(value);

    if (text != NULL && strlen(text) == 24 && text[19] == '.')
        table_cell_format(cell, "%.19sZ", text);
    else
        table_cell_string(cell, value);
}

/* "begin", "end", or "end:gone" if the id did not just move on. */
static void fill_event(struct table_cell *cell, const json_t *event)
{
    const char *kind = json_string_value(json_object_get(event, "kind"));
    const char *reason = json_string_value(json_object_get(event, "reason"));

    if (kind == NULL || reason == NULL || strcmp(reason, "moved") == 0)
        table_cell_string(cell, json_object_get(event, "kind"));
    else
        table_cell_format(cell, "%s:%s", kind, reason);
    if (kind != NULL)
        cell->colour = strcmp(kind, "begin") == 0 ? TABLE_RED : strcmp(kind, "end") == 0 ? TABLE_GREEN : NULL;
}

static void fill_duration(struct table_cell *cell, const json_t *event)
{
    long long lasted_ms = item_number(event, "lasted_ms");

    item_fill_duration(cell, lasted_ms != ITEM_UNKNOWN ? lasted_ms : item_number(event, "frozen_for_ms"));
}

static void fill_row(struct table_cell cells[COLUMN_COUNT], const json_t *event)
{
    fill_time(&cells[COLUMN_TIME], json_object_get(event, "at"));
    fill_event(&cells[COLUMN_EVENT], event);
    table_cell_string(&cells[COLUMN_RING], json_object_get(event, "ring"));
    item_fill_number(&cells[COLUMN_ID], event, "id");
    table_cell_string(&cells[COLUMN_NAME], json_object_get(event, "name"));
    table_cell_string(&cells[COLUMN_CAUSE], json_object_get(event, "cause"));
    fill_duration(&cells[COLUMN_FOR], event);
    item_fill_where(&cells[COLUMN_WHERE], json_object_get(event, "location"), false);
}

static void print_event(const struct table *table, const json_t *event, bool json)
{
    struct table_cell cells[COLUMN_COUNT];

    if (!json) {
        fill_row(cells, event);
        table_print(table, cells);
        return;
    }
    table_print_json(&table->style, event);
}

/* ---- the list ---- */

/* Removes the events up to since_id. Warns if that id is of another history. */
static void remove_older(json_t *events, const char *epoch, const char *since_id)
{
    uint64_t since = 0;

    if (!event_id_parse(since_id, &since))
        return;
    if (epoch == NULL || strncasecmp(since_id, epoch, strlen(epoch)) != 0) {
        cli_error("events: --since-id: '%s' is of another history; all events that ripd holds follow", since_id);
        return;
    }
    for (size_t i = json_array_size(events); i-- > 0;)
        if (json_integer_value(json_object_get(json_array_get(events, i), "sequence")) <= (json_int_t)since)
            json_array_remove(events, i);
}

static int list(struct client *client, const struct settings *settings, const char *target)
{
    struct table_cell cells[COLUMN_COUNT];
    json_t *document = NULL, *events;
    json_int_t older;
    struct table table;
    size_t returned;
    enum client_result result = client_get_list(client, target, "events", &document);

    if (result != CLIENT_OK)
        return status_of(result);
    events = json_object_get(document, "events");
    returned = json_array_size(events);
    older = json_integer_value(json_object_get(document, "total")) - (json_int_t)returned;
    if (settings->since_id != NULL)
        remove_older(events, json_string_value(json_object_get(document, "epoch")), settings->since_id);
    if (older > 0 && returned == json_array_size(events))
        cli_error("events: %" JSON_INTEGER_FORMAT " older events are not shown; --limit shows more", older);
    table_init(&table, columns, COLUMN_COUNT, true);
    for (size_t i = 0; i < json_array_size(events); i++) {
        fill_row(cells, json_array_get(events, i));
        table_fit(&table, cells);
    }
    table_settle(&table);
    if (!settings->json && json_array_size(events) != 0)
        table_print_titles(&table);
    for (size_t i = json_array_size(events); i-- > 0;) /* the list is newest first */
        print_event(&table, json_array_get(events, i), settings->json);
    json_decref(document);
    return CLI_OK;
}

/* ---- the command of --exec ---- */

enum command_result {
    COMMAND_DONE,    /* it ended, or was ended because it took too long; failures are reported */
    COMMAND_FAILED,  /* it could not be started now */
    COMMAND_STOPPED, /* it was ended because the follower stops, and has to run again */
};

/* The environment of rip and two more variables. The caller frees the array. */
static const char **make_environment(const char *kind_entry, const char *episode_entry)
{
    const char **made;
    size_t count = 0;

    while (environ[count] != NULL)
        count++;
    made = calloc(count + 3, sizeof(char *));
    if (made == NULL)
        return NULL;
    count = 0;
    for (size_t i = 0; environ[i] != NULL; i++)
        if (strncmp(environ[i], "RIPD_EVENT=", 11) != 0 && strncmp(environ[i], "RIPD_EPISODE=", 13) != 0)
            made[count++] = environ[i];
    made[count++] = kind_entry;
    made[count] = episode_entry;
    return made;
}

static int start_command(const char *command, json_int_t episode, const struct event_stream_item *item,
                         struct spawned *ret_spawned)
{
    char kind_entry[64], episode_entry[64];
    struct spawn_options options = {.command = command, .output = STDOUT_FILENO, .error = STDERR_FILENO};
    const char **environment;
    int error;

    snprintf(kind_entry, sizeof(kind_entry), "RIPD_EVENT=%s", item->kind);
    snprintf(episode_entry, sizeof(episode_entry), "RIPD_EPISODE=%" JSON_INTEGER_FORMAT, episode);
    environment = make_environment(kind_entry, episode_entry);
    if (environment == NULL)
        return -ENOMEM;
    options.environment = environment;
    error = options.input = spawn_input_line(item->data, item->data_bytes);
    if (options.input >= 0) {
        error = spawn_start(&options, ret_spawned);
        close(options.input);
    }
    free(environment);
    return error;
}

/* Its exit status, once it has ended. *ret_stopped: stop_descriptor became readable meanwhile. */
static int wait_for_command(struct spawned *spawned, struct time_limit *limit, int stop_descriptor, bool *ret_stopped)
{
    struct pollfd descriptors[] = {{.fd = stop_descriptor, .events = POLLIN},
                                   {.fd = spawned->descriptor, .events = POLLIN}};
    int status = 0;

    while (!spawn_ended(spawned, &status)) {
        uint64_t now_mono_ns = clock_mono_ns();
        enum time_limit_action action = time_limit_step(limit, now_mono_ns);
        uint64_t wait_ns = limit->next_mono_ns > now_mono_ns ? limit->next_mono_ns - now_mono_ns : 0;
        int wait_ms = (int)(wait_ns / 1000000) + 1;

        if (action != TIME_LIMIT_NOTHING) {
            spawn_signal(spawned, action == TIME_LIMIT_ASK ? SIGTERM : SIGKILL);
            continue;
        }
        poll(descriptors, 2, spawned->descriptor < 0 && wait_ms > COMMAND_POLL_MS ? COMMAND_POLL_MS : wait_ms);
        if (descriptors[0].revents != 0 && !*ret_stopped) {
            *ret_stopped = true;
            descriptors[0].fd = -1; /* it stays readable for the follower */
            time_limit_init(limit, clock_mono_ns(), 0, COMMAND_GRACE_NS);
        }
    }
    return status;
}

static enum command_result run_command(const char *command, const struct event_stream_item *item, const json_t *event,
                                       int stop_descriptor)
{
    json_int_t episode = json_integer_value(json_object_get(event, "episode"));
    struct time_limit limit;
    struct spawned spawned;
    bool stopped = false;
    int status = start_command(command, episode, item, &spawned);

    if (status < 0) {
        cli_error("events: --exec: cannot be started: %s", strerror(-status));
        return COMMAND_FAILED;
    }
    time_limit_init(&limit, clock_mono_ns(), COMMAND_LIMIT_NS, COMMAND_GRACE_NS);
    status = wait_for_command(&spawned, &limit, stop_descriptor, &stopped);
    if (stopped && status != 0)
        return COMMAND_STOPPED;
    if (limit.passed && !stopped)
        cli_error("events: --exec: ran longer than %" PRIu64 " s and was ended: %s of episode %" JSON_INTEGER_FORMAT,
                  COMMAND_LIMIT_NS / 1000000000, item->kind, episode);
    else if (status != 0)
        cli_error("events: --exec: exit status %d: %s of episode %" JSON_INTEGER_FORMAT, status, item->kind, episode);
    return COMMAND_DONE;
}

/* ---- the follower ---- */

struct follower {
    const struct settings *settings;
    struct event_stream stream;
    struct table table;
    char id[EVENT_ID_BYTES]; /* of the last event handled */
    int stop_descriptor;     /* readable: stop */
    bool lost;               /* that ripd is gone has been reported */
    bool heard;              /* bytes have come over this connection */
    bool again;              /* this event could not be handled: reconnect to get it again */
    int status;              /* exit status */
};

/* What the handler of an event returns: the stream is read on, or ended. */
enum { READ_ON = 0, END = 1 };

static int end(struct follower *follower, int status)
{
    follower->status = status;
    return END;
}

/* What comes before the first id of a connection, such as a sign of life, leaves the place as it is. */
static int keep_id(struct follower *follower, const char *id)
{
    const char *path = follower->settings->state;
    int error;

    if (*id == '\0' || strcmp(id, follower->id) == 0 || strlen(id) >= sizeof(follower->id))
        return READ_ON;
    memcpy(follower->id, id, strlen(id) + 1);
    error = path != NULL ? event_id_store(path, id) : 0;
    if (error == 0)
        return READ_ON;
    cli_error("events: --state: '%s': %s", path, strerror(-error));
    return end(follower, CLI_OUTPUT);
}

static int flush(struct follower *follower)
{
    if (fflush(stdout) == 0)
        return READ_ON;
    if (errno != EPIPE)
        cli_error("events: standard output: %s", strerror(errno));
    return end(follower, CLI_OUTPUT);
}

/* Reports events that ripd no longer holds. */
static void report_gap(const json_t *gap)
{
    const char *reason = json_string_value(json_object_get(gap, "reason"));
    const json_t *from = json_object_get(gap, "from"), *to = json_object_get(gap, "to");

    if (reason == NULL || strspn(reason, "abcdefghijklmnopqrstuvwxyz_") != strlen(reason))
        reason = "unknown";
    if (json_is_integer(from) && json_is_integer(to))
        cli_error("events: gap: %" JSON_INTEGER_FORMAT " events are missing, reason %s",
                  json_integer_value(to) - json_integer_value(from) + 1, reason);
    else
        cli_error("events: gap: events may be missing, reason %s", reason);
}

static int handle_event(struct follower *follower, const struct event_stream_item *item, json_t *event)
{
    const struct settings *settings = follower->settings;
    bool gap = strcmp(item->kind, "gap") == 0;

    if (!gap && strcmp(item->kind, "begin") != 0 && strcmp(item->kind, "end") != 0)
        return READ_ON; /* a kind of a later ripd */
    if (gap) {
        report_gap(event);
        if (!settings->json || settings->command != NULL)
            return READ_ON;
        json_object_set_new(event, "kind", json_string("gap"));
    } else if (settings->command != NULL) {
        enum command_result result = run_command(settings->command, item, event, follower->stop_descriptor);

        follower->again = result == COMMAND_FAILED;
        return result == COMMAND_DONE ? READ_ON : END;
    }
    print_event(&follower->table, event, settings->json);
    return flush(follower);
}

static int handle_item(void *context, const struct event_stream_item *item)
{
    struct follower *follower = context;
    json_t *event;
    int result;

    if (item->data == NULL)
        return keep_id(follower, item->id);
    event = json_loadb(item->data, item->data_bytes, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(event)) {
        json_decref(event);
        cli_error("events: the answer is not one of ripd's: an event that is not a JSON object");
        return end(follower, CLI_ANSWER);
    }
    result = handle_event(follower, item, event);
    json_decref(event);
    return result != READ_ON ? result : keep_id(follower, item->id);
}

static int take_bytes(void *context, const char *bytes, size_t count)
{
    struct follower *follower = context;
    int status;

    if (follower->lost)
        cli_error("events: following again");
    follower->lost = false;
    follower->heard = true;
    status = event_stream_push(&follower->stream, bytes, count, handle_item, follower);
    if (status >= 0)
        return status;
    cli_error("events: %s",
              status == -ENOMEM ? "out of memory" : "the answer is not one of ripd's: an event too large");
    return end(follower, CLI_ANSWER);
}

static int follow_stream(struct follower *follower, struct client *client, const char *target)
{
    const struct client_stream stream = {target,     follower->id, follower->stop_descriptor,
                                         SILENCE_NS, take_bytes,   follower};
    struct pollfd stop = {.fd = follower->stop_descriptor, .events = POLLIN};
    uint64_t pause_ns = BACKOFF_NS;

    for (;;) {
        enum client_result result;

        follower->heard = follower->again = false;
        event_stream_init(&follower->stream);
        result = client_follow(client, &stream);
        event_stream_done(&follower->stream);
        if (result == CLIENT_STOPPED && !follower->again)
            return follower->status;
        if (result != CLIENT_STOPPED && result != CLIENT_UNREACHABLE)
            return status_of(result);
        if (result == CLIENT_UNREACHABLE && !follower->lost) {
            cli_error("events: trying again: %s", client_error());
            follower->lost = true;
        }
        if (follower->heard)
            pause_ns = BACKOFF_NS;
        if (poll(&stop, 1, (int)(pause_ns / 1000000)) != 0)
            return CLI_OK;
        pause_ns = pause_ns * 2 < BACKOFF_MAX_NS ? pause_ns * 2 : BACKOFF_MAX_NS;
    }
}

/* A descriptor that becomes readable when the follower is to stop. */
static int open_stop(void)
{
    sigset_t set;

    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static int follow(struct client *client, const struct settings *settings, const char *target)
{
    struct follower follower = {.settings = settings};
    int error = settings->state != NULL ? event_id_load(settings->state, follower.id) : -ENOENT;

    if (error != 0 && error != -ENOENT) {
        cli_error("events: --state: '%s': %s", settings->state,
                  error == -EINVAL ? "expected a file with EPOCH-SEQUENCE in it, or none" : strerror(-error));
        return CLI_USAGE;
    }
    if (error != 0 && settings->since_id != NULL)
        snprintf(follower.id, sizeof(follower.id), "%s", settings->since_id);
    follower.stop_descriptor = open_stop();
    if (follower.stop_descriptor < 0) {
        cli_error("events: signalfd: %s", strerror(errno));
        return CLI_UNREACHABLE;
    }
    table_init(&follower.table, columns, COLUMN_COUNT, false);
    if (!settings->json && settings->command == NULL)
        table_print_titles(&follower.table);
    if (flush(&follower) == READ_ON)
        follower.status = follow_stream(&follower, client, target);
    close(follower.stop_descriptor);
    return follower.status;
}

int cli_events(int argc, char **argv)
{
    struct settings settings = {.url = NULL};
    char target[TARGET_BYTES];
    struct client *client;
    enum client_result result;
    int next, status;

    if (!cli_parse(&cli_events_syntax, argc, argv, &settings, &next, &status))
        return status;
    if (next < argc) {
        cli_error("events: %.100s: unexpected word; `rip events --help` lists the flags", argv[next]);
        return CLI_USAGE;
    }
    if (!check_flags(&settings) || !make_target(&settings, target))
        return CLI_USAGE;
    signal(SIGPIPE, SIG_IGN); /* a write to a reader that has gone is an error instead */
    result = client_new(&client, settings.url);
    if (result != CLIENT_OK)
        return status_of(result);
    status = settings.follow ? follow(client, &settings, target) : list(client, &settings, target);
    client_free(client);
    return status;
}
