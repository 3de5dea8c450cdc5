/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.c - `rip events`: begins and ends of stalls of one or several hosts, as a list, or as they happen with one
 * thread for the stream of each host.
 *
 * Guarantees
 *   A. A wrong flag or value is refused before a request is sent, by the rules of ripd itself.
 *   B. The list has the newest events of all hosts, ordered by time.
 *   C. A lost connection is made again with the id of the last event handled. Every event that the host still has is
 *      received, and those that it no longer has are reported. Hosts do not wait for each other.
 *   D. Events are handled one at a time over all hosts. While a command runs nothing is read: ripd's history is the
 *      queue. If ripd drops the stream meanwhile, C holds.
 *   E. With a state file the id is stored after its event has been handled. Across restarts every event reaches the
 *      command at least once, and twice only if the follower was stopped while handling it.
 *   F. The command of --exec runs for at most COMMAND_LIMIT_NS; its process group ends with it. The event is on its
 *      standard input, never among the words of a shell.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cases/event_kind.h"
#include "cases/query.h"
#include "cli/cli.h"
#include "cli/event_id.h"
#include "cli/event_stream.h"
#include "cli/filters.h"
#include "cli/hosts.h"
#include "cli/item.h"
#include "cli/list.h"
#include "cli/table.h"
#include "os/clock.h"
#include "os/spawn.h"
#include "util/array.h"
#include "util/time_limit.h"

#define SILENCE_NS UINT64_C(60000000000) /* ripd sends a comment every 15 s */
#define BACKOFF_MS 250                   /* before the first reconnection; doubled each time */
#define BACKOFF_MAX_MS 10000
#define COMMAND_LIMIT_NS UINT64_C(30000000000) /* then SIGTERM to its process group, */
#define COMMAND_GRACE_NS UINT64_C(5000000000)  /* then SIGKILL */
#define COMMAND_POLL_MS 100                    /* if no descriptor reports its end */

/* NULL: not given. */
struct settings {
    struct hosts_options hosts;
    struct filters filters;
    const char *since_id;
    const char *command;
    const char *state;
    bool follow;
};

static struct settings settings;

static const struct cli_flag flags[] = {
    HOSTS_URL_FLAGS,
    HOSTS_JSON_FLAG,
    CLI_FLAG("--follow", NULL, CLI_SWITCH, follow,
             "print events as they happen, from now on or after --since-id; reconnects"),
    CLI_FLAG("--since-id", "ID", CLI_TEXT, since_id, "only events after EPOCH-SEQUENCE; only for one host"),
    CLI_FLAG("--exec", "CMD", CLI_TEXT, command,
             "with --follow: run this with /bin/sh for each event; standard input is its JSON"),
    CLI_FLAG("--state", "FILE", CLI_TEXT, state,
             "with --follow: store the last ID in this file, and continue after it when run again; only for one host"),
    FILTERS_EVENT_FLAGS,
};

static const char values[] = FILTER_VALUES "KIND is one of:" EVENT_KIND_TABLE(FILTER_WORD) "\n";

const struct cli_syntax cli_events_syntax = {
    .name = "events",
    .usage = "usage: rip events [FLAG...]\n"
             "\n"
             "Prints the begins and ends of stalls that ripd has seen, oldest first.\n"
             "\n",
    .values = values,
    .notes =
        "\n"
        "exit status: 0, also when stopped by a signal; 1 a ripd does not answer; 2 wrong flag, or a request that\n"
        "ripd refuses; 3 an answer is not from ripd; 4 output or state could not be written\n",
    CLI_FLAGS(flags),
};

/* Returns false after an error message: the value of a flag is wrong, or flags contradict each other. */
static bool check_flags(void)
{
    const bool several = settings.hosts.urls.count > 1;
    uint64_t sequence;
    const struct {
        bool wrong;
        const char *message;
    } faults[] = {
        {settings.command != NULL && *settings.command == '\0', "--exec: expected a command"},
        {settings.state != NULL && *settings.state == '\0', "--state: expected a file"},
        {settings.command != NULL && !settings.follow, "--exec: expected together with --follow"},
        {settings.state != NULL && !settings.follow, "--state: expected together with --follow"},
        {settings.filters.values[FILTER_LIMIT] != NULL && settings.follow, "--limit: expected without --follow"},
        {settings.filters.values[FILTER_SINCE] != NULL && settings.follow, "--since: expected without --follow"},
        {settings.since_id != NULL && several, "--since-id: expected with only one --url: each host has its own ids"},
        {settings.state != NULL && several, "--state: expected with only one --url: each host has its own ids"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(faults); i++)
        if (faults[i].wrong)
            return cli_error("%s", faults[i].message);
    if (settings.since_id == NULL || event_id_parse(settings.since_id, &sequence))
        return true;
    return cli_error("--since-id: '%.64s' is not an id; expected EPOCH-SEQUENCE, 16 hexadecimal digits and a number",
                     settings.since_id);
}

/* Writes "2026-11-20T09:41:07Z" without the fraction; on a terminal "11-20 09:41:07Z". */
static void fill_time(struct table_cell *cell, const json_t *at, unsigned columns)
{
    const char *text = json_string_value(at);

    if (text == NULL || strlen(text) != 24 || text[19] != '.')
        table_cell_value(cell, at);
    else if (columns != TEXT_ANY_COLUMNS)
        table_cell_format(cell, "%.5s %.8sZ", text + 5, text + 11);
    else
        table_cell_format(cell, "%.19sZ", text);
}

/* Writes "begin", "end", or "end:gone" if the id did not just move again. */
static void fill_event(struct table_cell *cell, const json_t *event)
{
    const char *kind = item_text(event, "kind"), *reason = item_text(event, "reason");

    table_cell_value(cell, json_object_get(event, "kind"));
    if (kind != NULL && reason != NULL && strcmp(reason, "moved") != 0)
        table_cell_format(cell, "%s:%s", kind, reason);
    cell->colour = item_is(event, "kind", "begin") ? TABLE_RED : item_is(event, "kind", "end") ? TABLE_GREEN : NULL;
}

/* ">5.0s" if the stall may have lasted twice as long or longer: if ripd did not run when it began or ended. */
static void fill_duration(struct table_cell *cell, const json_t *event)
{
    const json_t *longest = json_object_get(event, "lasted_max_ms");
    const long long lasted_ms = item_number(event, "lasted_ms");
    const bool is_bound =
        lasted_ms != ITEM_UNKNOWN && (json_is_null(longest) || json_integer_value(longest) / 2 >= lasted_ms);
    struct table_cell shown;

    item_fill_duration(&shown, lasted_ms != ITEM_UNKNOWN ? lasted_ms : item_number(event, "frozen_for_ms"));
    table_cell_format(cell, "%s%s", is_bound ? ">" : "", shown.text);
}

static const struct table_column columns[] = {
    {"TIME", 15, 20, .key = "at", .fill_columns = fill_time},
    {"EVENT", 5, 12, .fill = fill_event},
    {"RING", 8, 24, .key = "ring"},
    {"ID", 4, 10, true, .key = "id"},
    {"NAME", 8, 24, .key = "name"},
    {"CAUSE", 8, 15, .key = "cause"},
    {"FOR", 6, 8, true, .fill = fill_duration},
    {"WHERE", 0, TEXT_ANY_COLUMNS, .key = "location", .fill_columns = list_fill_where},
};

/* ---- the list ---- */

/* Removes the events up to since_id. Returns false if there are none. Warns if the id is of another history. */
static bool remove_older(const json_t *document, const char *since_id)
{
    json_t *events = json_object_get(document, "events");
    const char *epoch = item_text(document, "epoch");
    size_t before = json_array_size(events);
    uint64_t since = 0;

    if (document == NULL || since_id == NULL || !event_id_parse(since_id, &since))
        return false;
    if (epoch == NULL || strncasecmp(since_id, epoch, strlen(epoch)) != 0)
        return cli_error("--since-id: '%s' is of another history; all events that ripd has follow", since_id);
    for (size_t i = json_array_size(events); i-- > 0;)
        if (json_integer_value(json_object_get(json_array_get(events, i), "sequence")) <= (json_int_t)since)
            json_array_remove(events, i);
    return json_array_size(events) < before;
}

/* Oldest first; events with one time and host keep the host's order. */
static int compare_events(const void *left, const void *right)
{
    const struct list_row *a = left, *b = right;
    const char *at_a = item_text(a->item, "at"), *at_b = item_text(b->item, "at");
    const long long sequence_a = item_number(a->item, "sequence"), sequence_b = item_number(b->item, "sequence");
    const int order = strcmp(at_a != NULL ? at_a : "", at_b != NULL ? at_b : "");

    if (order != 0)
        return order;
    if (a->host != b->host)
        return a->host > b->host ? 1 : -1;
    return (sequence_a > sequence_b) - (sequence_a < sequence_b);
}

/* Reports how many matching events exist that the request did not return or the limit left out. */
static void report_older(size_t shown)
{
    long long older = frame_of().total - (long long)shown;

    if (older > 0)
        cli_error("%lld older events are not shown; --limit shows more", older);
}

static int list_events(const char *target)
{
    const char *given = settings.filters.values[FILTER_LIMIT];
    size_t limit = given != NULL ? strtoul(given, NULL, 10) : QUERY_LIMIT_DEFAULT;
    struct list list;
    bool removed;
    int status;

    hosts_get(target, "ripd/events/1", "events");
    removed = remove_older(hosts_document(0), settings.since_id); /* an id belongs to a single host */
    list_init(&list, true, settings.hosts.json, columns, ARRAY_COUNT(columns));
    list_add_each(&list, "events");
    list_sort(&list, compare_events);
    if (limit > list.count)
        limit = list.count;
    list_print(&list, list.count - limit, limit);
    cli_flush();
    if (!removed)
        report_older(limit);
    status = hosts_report();
    list_done(&list);
    return status;
}

/* ---- the command of --exec ---- */

/* Passed to putenv(): the two variables that a command has in addition to those of rip, set before it starts. */
static char kind_variable[64] = "RIPD_EVENT=", episode_variable[64] = "RIPD_EPISODE=";

/* Returns a descriptor with the event and a newline, for the standard input of a command, or -errno. */
static int make_input(const json_t *event)
{
    size_t length = 0;
    char *text = NULL;
    FILE *file = open_memstream(&text, &length);
    int descriptor = -ENOMEM;

    if (file != NULL) {
        table_write_json(file, event, 0);
        if (fclose(file) == 0)
            descriptor = spawn_input_line(text, length);
    }
    free(text);
    return descriptor;
}

static int start_command(const char *command, json_int_t episode, const char *kind, const json_t *event,
                         struct spawned *ret_spawned)
{
    struct spawn_options options = {.command = command,
                                    .environment = (const char *const *)environ,
                                    .input = make_input(event),
                                    .output = STDOUT_FILENO,
                                    .error = STDERR_FILENO};
    int error;

    snprintf(kind_variable, sizeof(kind_variable), "RIPD_EVENT=%s", kind);
    snprintf(episode_variable, sizeof(episode_variable), "RIPD_EPISODE=%" JSON_INTEGER_FORMAT, episode);
    if (options.input < 0)
        return options.input;
    error = spawn_start(&options, ret_spawned);
    close(options.input);
    return error;
}

/*
 * Waits for the command to end. Returns its exit status. Sets *ret_stopped if stop_descriptor became readable
 * meanwhile.
 */
static int wait_for_command(struct spawned *spawned, struct time_limit *limit, int stop_descriptor, bool *ret_stopped)
{
    struct pollfd descriptors[] = {{.fd = stop_descriptor, .events = POLLIN},
                                   {.fd = spawned->descriptor, .events = POLLIN}};
    int status = 0;

    while (!spawn_ended(spawned, &status)) {
        uint64_t now_mono_ns = clock_mono_ns();
        enum time_limit_action action = time_limit_step(limit, now_mono_ns);
        int wait_ms = (int)(time_left_ns(limit->next_mono_ns, now_mono_ns) / 1000000) + 1;

        if (action != TIME_LIMIT_NOTHING) {
            spawn_signal(spawned, action == TIME_LIMIT_ASK ? SIGTERM : SIGKILL);
            continue;
        }
        poll(descriptors, 2, spawned->descriptor < 0 && wait_ms > COMMAND_POLL_MS ? COMMAND_POLL_MS : wait_ms);
        if (descriptors[0].revents != 0 && !*ret_stopped) {
            *ret_stopped = true;
            descriptors[0].fd = -1; /* it stays readable, for the follower */
            time_limit_init(limit, clock_mono_ns(), 0, COMMAND_GRACE_NS);
        }
    }
    return status;
}

/* ---- as they happen ---- */

/* State shared by all followers. */
static struct {
    const char *target; /* /events with its parameters */
    struct list list;
    int stop_descriptor;   /* readable: stop */
    pthread_mutex_t mutex; /* held while an event is handled or output is written */
} following = {.mutex = PTHREAD_MUTEX_INITIALIZER};

struct follower {
    size_t host;
    pthread_t thread;
    bool started;
    struct event_stream stream;
    char id[EVENT_ID_BYTES]; /* id of the last event handled */
    bool lost;               /* the loss of ripd has been reported */
    bool heard;              /* bytes were received over this connection */
    bool again;              /* this event could not be handled: reconnect to receive it again */
    int status;              /* exit status */
};

/* Results of the handler of an event: continue reading the stream, or end it. */
enum { READ_ON = 0, END = 1 };

static int end(struct follower *follower, int status)
{
    follower->status = status;
    return END;
}

/* The output is gone: stops all followers, as a signal does. */
static int end_all(struct follower *follower)
{
    kill(getpid(), SIGTERM);
    return end(follower, CLI_OUTPUT);
}

/* Waits for up to wait_ms. Returns whether the followers must stop. */
static bool is_stopped(int wait_ms)
{
    struct pollfd stop = {.fd = following.stop_descriptor, .events = POLLIN};

    return poll(&stop, 1, wait_ms) > 0;
}

/* Before the first id of a connection, such as during a heartbeat, the stored id does not change. */
static int keep_id(struct follower *follower, const char *id)
{
    const char *path = settings.state;
    int error;

    if (*id == '\0' || strcmp(id, follower->id) == 0 || strlen(id) >= sizeof(follower->id))
        return READ_ON;
    memcpy(follower->id, id, strlen(id) + 1);
    error = path != NULL ? event_id_store(path, id) : 0;
    if (error == 0)
        return READ_ON;
    cli_error("--state: '%s': %s", path, strerror(-error));
    return end_all(follower);
}

static const char *host_of(const struct follower *follower)
{
    return hosts_name(follower->host);
}

/* Reports events that ripd no longer has. */
static void report_gap(const struct follower *follower, const json_t *gap)
{
    const char *reason = item_text(gap, "reason");
    const json_t *from = json_object_get(gap, "from"), *to = json_object_get(gap, "to");

    if (reason == NULL || strspn(reason, "abcdefghijklmnopqrstuvwxyz_") != strlen(reason))
        reason = "unknown";
    if (json_is_integer(from) && json_is_integer(to))
        cli_error("gap: %" JSON_INTEGER_FORMAT " events of %s are missing, reason %s",
                  json_integer_value(to) - json_integer_value(from) + 1, host_of(follower), reason);
    else
        cli_error("gap: events of %s may be missing, reason %s", host_of(follower), reason);
}

/*
 * If the command has to run again, the stream ends: it could not start now, or was killed because the follower stops.
 */
static int run_command(struct follower *follower, const char *kind, json_t *event)
{
    json_int_t episode = json_integer_value(json_object_get(event, "episode"));
    struct time_limit limit;
    struct spawned spawned;
    bool stopped = false;
    int status;

    if (hosts_named())
        json_object_set_new(event, "host", json_string(host_of(follower)));
    status = start_command(settings.command, episode, kind, event, &spawned);
    follower->again = status < 0;
    if (status < 0)
        return cli_fail(END, "--exec: cannot be started: %s", strerror(-status));
    time_limit_init(&limit, clock_mono_ns(), COMMAND_LIMIT_NS, COMMAND_GRACE_NS);
    status = wait_for_command(&spawned, &limit, following.stop_descriptor, &stopped);
    if (stopped && status != 0)
        return END;
    if (limit.passed && !stopped)
        cli_error("--exec: killed after %" PRIu64 " s: %s of episode %" JSON_INTEGER_FORMAT,
                  COMMAND_LIMIT_NS / 1000000000, kind, episode);
    else if (status != 0)
        cli_error("--exec: exit status %d: %s of episode %" JSON_INTEGER_FORMAT, status, kind, episode);
    return READ_ON;
}

static int handle_event(struct follower *follower, const char *kind, json_t *event)
{
    bool gap = strcmp(kind, "gap") == 0;

    if (!gap && strcmp(kind, "begin") != 0 && strcmp(kind, "end") != 0)
        return READ_ON; /* a kind that only a later ripd has */
    if (gap) {
        report_gap(follower, event);
        if (!settings.hosts.json || settings.command != NULL)
            return READ_ON;
        json_object_set_new(event, "kind", json_string("gap"));
    } else if (settings.command != NULL) {
        return run_command(follower, kind, event);
    }
    list_print_row(&following.list, &(struct list_row){event, follower->host});
    return cli_flush() ? READ_ON : end_all(follower);
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
        cli_error("%s: the answer is not from ripd: an event that is not a JSON object", host_of(follower));
        return end(follower, CLI_ANSWER);
    }
    result = handle_event(follower, item->kind, event);
    json_decref(event);
    return result != READ_ON ? result : keep_id(follower, item->id);
}

static int take_bytes(void *context, const char *bytes, size_t count)
{
    struct follower *follower = context;
    int status;

    if (follower->lost)
        cli_error("following %s again", host_of(follower));
    follower->lost = false;
    follower->heard = true;
    pthread_mutex_lock(&following.mutex);
    /* another follower may have waited for its command until it was stopped */
    status = is_stopped(0) ? END : event_stream_push(&follower->stream, bytes, count, handle_item, follower);
    pthread_mutex_unlock(&following.mutex);
    if (status >= 0)
        return status;
    cli_error("%s: %s", host_of(follower),
              status == -ENOMEM ? "out of memory" : "the answer is not from ripd: an event is too large");
    return end(follower, CLI_ANSWER);
}

/* Reads one connection. Returns false if it is the last; follower->status is the result. */
static bool read_stream(struct follower *follower)
{
    const struct client_stream stream = {following.target, follower->id, following.stop_descriptor,
                                         SILENCE_NS,       take_bytes,   follower};
    enum client_result result;

    follower->heard = follower->again = false;
    event_stream_init(&follower->stream);
    result = client_follow(hosts_client(follower->host), &stream);
    event_stream_done(&follower->stream);
    if (result == CLIENT_STOPPED)
        return follower->again;
    if (result != CLIENT_UNREACHABLE) {
        cli_error("%s", hosts_error(follower->host));
        follower->status = hosts_status(result);
        return false;
    }
    if (!follower->lost)
        cli_error("trying again: %s", hosts_error(follower->host));
    follower->lost = true;
    return true;
}

static void *follow(void *context)
{
    struct follower *follower = context;
    int pause_ms = BACKOFF_MS;

    while (read_stream(follower)) {
        if (follower->heard)
            pause_ms = BACKOFF_MS;
        if (is_stopped(pause_ms))
            break;
        pause_ms = pause_ms * 2 < BACKOFF_MAX_MS ? pause_ms * 2 : BACKOFF_MAX_MS;
    }
    return NULL;
}

/* Returns a descriptor that becomes readable when the followers must stop. No thread is interrupted by signals. */
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

/*
 * Gets the id after which the first follower begins, if any. Returns CLI_OK, or the exit status after an error message.
 */
static int load_id(char id[EVENT_ID_BYTES])
{
    int error = settings.state != NULL ? event_id_load(settings.state, id) : -ENOENT;

    if (error != 0 && error != -ENOENT)
        return cli_fail(CLI_USAGE, "--state: '%s': %s", settings.state,
                        error == -EINVAL ? "expected a file with EPOCH-SEQUENCE in it, or none" : strerror(-error));
    if (error != 0 && settings.since_id != NULL)
        snprintf(id, EVENT_ID_BYTES, "%s", settings.since_id);
    return CLI_OK;
}

/* Runs until all followers have ended. Returns the worst of their exit statuses. */
static int follow_all(const char *id)
{
    struct follower *followers = cli_allocate(hosts_count(), sizeof(*followers));
    int status = CLI_OK;

    snprintf(followers[0].id, sizeof(followers[0].id), "%s", id);
    for (size_t i = 0; i < hosts_count(); i++) {
        followers[i].host = i;
        followers[i].started = pthread_create(&followers[i].thread, NULL, follow, &followers[i]) == 0;
        if (!followers[i].started)
            followers[i].status = cli_fail(CLI_UNREACHABLE, "no thread could be started for %s", hosts_name(i));
    }
    for (size_t i = 0; i < hosts_count(); i++) {
        if (followers[i].started)
            pthread_join(followers[i].thread, NULL);
        if (followers[i].status > status)
            status = followers[i].status;
    }
    free(followers);
    return status;
}

/* Runs until a signal, or until every host has refused. Returns the exit status. */
static int follow_events(const char *target)
{
    char id[EVENT_ID_BYTES] = "";
    int status = load_id(id);

    putenv(kind_variable);
    putenv(episode_variable);
    following.target = target;
    following.stop_descriptor = open_stop();
    if (following.stop_descriptor < 0)
        return cli_fail(CLI_UNREACHABLE, "signalfd: %s", strerror(errno));
    list_init(&following.list, true, settings.hosts.json, columns, ARRAY_COUNT(columns));
    if (status != CLI_OK)
        return status;
    if (settings.command == NULL)
        list_begin(&following.list);
    return cli_flush() ? follow_all(id) : CLI_OUTPUT;
}

int cli_events(char **words)
{
    char target[FILTERS_TARGET_BYTES];
    int status;

    (void)words;
    if (!check_flags() || !filters_target(&settings.filters, "/events", target))
        return CLI_USAGE;
    status = hosts_open(&settings.hosts);
    if (status != CLI_OK)
        return status;
    return settings.follow ? follow_events(target) : list_events(target);
}
