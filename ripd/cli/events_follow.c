/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_follow.c - `rip events --follow`: events as they happen, printed or handed to a command.
 *
 * Guarantees
 *   A. Whoever is cut off comes back with the id of the last event that was dealt with: nothing is lost that ripd still
 *      holds, and what it does not hold any more is said.
 *   B. With --state, the id is kept when an event has been dealt with and not before: across a restart of the follower
 *      every event reaches the command at least once, and twice only if the follower was stopped in the middle of it.
 *   C. While a command runs nothing is read: ripd keeps what comes, and drops the stream if that takes too long, after
 *      which A holds.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/event_stream.h"
#include "cli/events.h"

struct follower {
    const struct events_settings *settings;
    struct event_stream stream;
    struct events_table table;
    char id[EVENTS_ID_BYTES]; /* of the last event dealt with */
    int stop_descriptor;
    bool lost;    /* stderr has been told that ripd is gone */
    bool heard;   /* bytes have come over this connection */
    bool dealing; /* with what comes; false: it has to come again */
    int status;   /* of exit, once it is to end */
};

enum { GO_ON = 0, END = 1, COME_BACK = 2 };

static int end(struct follower *follower, int status)
{
    follower->status = status;
    return END;
}

static int keep_place(struct follower *follower, const char *id)
{
    int error;

    if (strcmp(id, follower->id) == 0 || strlen(id) >= sizeof(follower->id))
        return GO_ON;
    memcpy(follower->id, id, strlen(id) + 1);
    error = follower->settings->state != NULL ? events_state_write(follower->settings->state, id) : 0;
    if (error == 0)
        return GO_ON;
    cli_error("events: --state: '%s': %s", follower->settings->state, strerror(-error));
    return end(follower, CLI_OUTPUT);
}

static void say_gap(const json_t *gap)
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

static int flush(struct follower *follower)
{
    if (fflush(stdout) == 0)
        return GO_ON;
    if (errno != EPIPE)
        cli_error("events: standard output: %s", strerror(errno));
    return end(follower, CLI_OUTPUT);
}

static int print_event(struct follower *follower, const json_t *event)
{
    if (follower->settings->json)
        events_print_json(&follower->table.style, event);
    else
        events_table_row(&follower->table, event);
    return flush(follower);
}

static int hand_over(struct follower *follower, const struct event_stream_item *item, const json_t *event)
{
    json_int_t episode = json_integer_value(json_object_get(event, "episode"));

    switch (events_command_run(follower->settings->command, item->kind, (uint64_t)episode, item->data, item->data_bytes,
                               follower->stop_descriptor)) {
    case EVENTS_COMMAND_CUT:
        return end(follower, CLI_OK);
    case EVENTS_COMMAND_FAILED:
        return COME_BACK;
    case EVENTS_COMMAND_DONE:
        break;
    }
    return GO_ON;
}

static int take_gap(struct follower *follower, json_t *gap)
{
    say_gap(gap);
    if (!follower->settings->json || follower->settings->command != NULL)
        return GO_ON;
    json_object_set_new(gap, "kind", json_string("gap"));
    return print_event(follower, gap);
}

static int take_item(void *context, const struct event_stream_item *item)
{
    struct follower *follower = context;
    json_t *event;
    int result = GO_ON;

    if (item->data == NULL)
        return keep_place(follower, item->id);
    event = json_loadb(item->data, item->data_bytes, JSON_ALLOW_NUL, NULL);
    if (!json_is_object(event)) {
        json_decref(event);
        cli_error("events: not an answer of ripd's: an event that is no JSON object");
        return end(follower, CLI_ANSWER);
    }
    if (strcmp(item->kind, "gap") == 0)
        result = take_gap(follower, event);
    else if (strcmp(item->kind, "begin") != 0 && strcmp(item->kind, "end") != 0)
        result = GO_ON; /* of a later ripd */
    else if (follower->settings->command != NULL)
        result = hand_over(follower, item, event);
    else
        result = print_event(follower, event);
    json_decref(event);
    return result != GO_ON ? result : keep_place(follower, item->id);
}

static int take_bytes(void *context, const char *bytes, size_t count)
{
    struct follower *follower = context;
    int status;

    if (follower->lost)
        cli_error("events: following again");
    follower->lost = false;
    follower->heard = true;
    status = event_stream_push(&follower->stream, bytes, count, take_item, follower);
    if (status == -EMSGSIZE) {
        cli_error("events: not an answer of ripd's: an event of more than %u bytes", EVENT_STREAM_BYTES_MAX);
        return end(follower, CLI_ANSWER);
    }
    if (status == -ENOMEM) {
        cli_error("events: out of memory");
        return end(follower, CLI_ANSWER);
    }
    follower->dealing = status != COME_BACK;
    return status;
}

/* Waits before the next try. False: asked to stop meanwhile. */
static bool pause_for(const struct follower *follower, uint64_t pause_ns)
{
    struct pollfd stop = {.fd = follower->stop_descriptor, .events = POLLIN};

    return poll(&stop, 1, (int)(pause_ns / 1000000)) == 0;
}

/* Whether another try is of any use. */
static bool is_passing(const struct client *client, enum client_result result)
{
    return result == CLIENT_UNREACHABLE || client_status(client) >= 500;
}

static int follow(struct follower *follower, struct client *client, const char *target)
{
    uint64_t pause_ns = EVENTS_BACKOFF_NS;

    for (;;) {
        struct client_stream stream = {target,     follower->id, follower->stop_descriptor, EVENTS_SILENCE_NS,
                                       take_bytes, follower};
        enum client_result result;

        follower->heard = false;
        follower->dealing = true;
        event_stream_init(&follower->stream);
        result = client_follow(client, &stream);
        event_stream_done(&follower->stream);
        if (result == CLIENT_STOPPED && follower->dealing)
            return follower->status;
        if (result != CLIENT_STOPPED && !is_passing(client, result))
            return events_status(result);
        if (result != CLIENT_STOPPED && !follower->lost)
            cli_error("events: %s; trying again", client_error());
        follower->lost |= result != CLIENT_STOPPED;
        if (follower->heard)
            pause_ns = EVENTS_BACKOFF_NS;
        if (!pause_for(follower, pause_ns))
            return CLI_OK;
        pause_ns = pause_ns * 2 < EVENTS_BACKOFF_MAX_NS ? pause_ns * 2 : EVENTS_BACKOFF_MAX_NS;
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

/* The place to begin at: --state if there is one, else --since-id. False, after a line on stderr. */
static bool find_place(struct follower *follower)
{
    const struct events_settings *settings = follower->settings;
    int error = settings->state != NULL ? events_state_read(settings->state, follower->id) : -ENOENT;

    if (error == -ENOENT && settings->since_id != NULL)
        snprintf(follower->id, sizeof(follower->id), "%s", settings->since_id);
    if (error == 0 || error == -ENOENT)
        return true;
    cli_error("events: --state: '%s': %s", settings->state,
              error == -EINVAL ? "expected a file with EPOCH-SEQUENCE in it, or none" : strerror(-error));
    return false;
}

int events_follow(struct client *client, const struct events_settings *settings)
{
    struct follower follower = {.settings = settings, .stop_descriptor = -1};
    char target[EVENTS_TARGET_BYTES];

    if (!events_target(settings, target) || !find_place(&follower))
        return CLI_USAGE;
    follower.stop_descriptor = open_stop();
    if (follower.stop_descriptor < 0) {
        cli_error("events: signalfd: %s", strerror(errno));
        return CLI_UNREACHABLE;
    }
    events_table_init(&follower.table, NULL);
    if (!settings->json && settings->command == NULL)
        events_table_head(&follower.table);
    if (flush(&follower) == GO_ON)
        follower.status = follow(&follower, client, target);
    close(follower.stop_descriptor);
    return follower.status;
}
