/* SPDX-License-Identifier: Apache-2.0 */
/* event_follow.c - a thread for each host; what one of them handles, it handles alone. See event_follow.h. */
#include "cli/event_follow.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/event_command.h"
#include "cli/event_id.h"
#include "cli/event_stream.h"
#include "cli/event_table.h"
#include "cli/item.h"

#define SILENCE_NS UINT64_C(60000000000) /* ripd sends a comment every 15 s */
#define BACKOFF_MS 250                   /* before the first reconnection; doubles */
#define BACKOFF_MAX_MS 10000

/* What all followers share. */
struct following {
    struct hosts *hosts;
    const struct event_follow_options *options;
    struct list list;
    int stop_descriptor;   /* readable: stop */
    pthread_mutex_t mutex; /* held while something is handled or written */
};

struct follower {
    struct following *shared;
    size_t host;
    pthread_t thread;
    bool started;
    struct event_stream stream;
    char id[EVENT_ID_BYTES]; /* of the last event handled */
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

/* The output is gone: stop all followers, as a signal from outside does. */
static int end_all(struct follower *follower)
{
    kill(getpid(), SIGTERM);
    return end(follower, CLI_OUTPUT);
}

/* Whether it has to stop within this time. */
static bool is_stopped(const struct following *shared, int wait_ms)
{
    struct pollfd stop = {.fd = shared->stop_descriptor, .events = POLLIN};

    return poll(&stop, 1, wait_ms) > 0;
}

/* What comes before the first id of a connection, such as a sign of life, leaves the place as it is. */
static int keep_id(struct follower *follower, const char *id)
{
    const char *path = follower->shared->options->state;
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
    return hosts_name(follower->shared->hosts, follower->host);
}

/* Reports events that ripd no longer holds. */
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

static int run_command(struct follower *follower, const char *kind, json_t *event)
{
    const struct following *shared = follower->shared;
    enum event_command_result result;

    if (hosts_named(shared->hosts))
        json_object_set_new(event, "host", json_string(host_of(follower)));
    result = event_command_run(shared->options->command, kind, event, shared->stop_descriptor);
    follower->again = result == EVENT_COMMAND_FAILED;
    return result == EVENT_COMMAND_DONE ? READ_ON : END;
}

static int handle_event(struct follower *follower, const char *kind, json_t *event)
{
    const struct event_follow_options *options = follower->shared->options;
    bool gap = strcmp(kind, "gap") == 0;

    if (!gap && strcmp(kind, "begin") != 0 && strcmp(kind, "end") != 0)
        return READ_ON; /* a kind of a later ripd */
    if (gap) {
        report_gap(follower, event);
        if (!options->json || options->command != NULL)
            return READ_ON;
        json_object_set_new(event, "kind", json_string("gap"));
    } else if (options->command != NULL) {
        return run_command(follower, kind, event);
    }
    list_print_row(&follower->shared->list, &(struct list_row){event, follower->host});
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
        cli_error("%s: the answer is not one of ripd's: an event that is not a JSON object", host_of(follower));
        return end(follower, CLI_ANSWER);
    }
    result = handle_event(follower, item->kind, event);
    json_decref(event);
    return result != READ_ON ? result : keep_id(follower, item->id);
}

static int take_bytes(void *context, const char *bytes, size_t count)
{
    struct follower *follower = context;
    struct following *shared = follower->shared;
    int status;

    if (follower->lost)
        cli_error("following %s again", host_of(follower));
    follower->lost = false;
    follower->heard = true;
    pthread_mutex_lock(&shared->mutex);
    /* another may have waited for its command until it was stopped */
    status = is_stopped(shared, 0) ? END : event_stream_push(&follower->stream, bytes, count, handle_item, follower);
    pthread_mutex_unlock(&shared->mutex);
    if (status >= 0)
        return status;
    cli_error("%s: %s", host_of(follower),
              status == -ENOMEM ? "out of memory" : "the answer is not one of ripd's: an event too large");
    return end(follower, CLI_ANSWER);
}

/* One connection. False: it is the last; follower->status is how it ended. */
static bool read_stream(struct follower *follower)
{
    struct following *shared = follower->shared;
    const struct client_stream stream = {
        shared->options->target, follower->id, shared->stop_descriptor, SILENCE_NS, take_bytes, follower};
    enum client_result result;

    follower->heard = follower->again = false;
    event_stream_init(&follower->stream);
    result = client_follow(hosts_client(shared->hosts, follower->host), &stream);
    event_stream_done(&follower->stream);
    if (result == CLIENT_STOPPED)
        return follower->again;
    if (result != CLIENT_UNREACHABLE) {
        cli_error("%s", client_error());
        follower->status = hosts_status(result);
        return false;
    }
    if (!follower->lost)
        cli_error("trying again: %s", client_error());
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
        if (is_stopped(follower->shared, pause_ms))
            break;
        pause_ms = pause_ms * 2 < BACKOFF_MAX_MS ? pause_ms * 2 : BACKOFF_MAX_MS;
    }
    return NULL;
}

/* A descriptor that becomes readable when the followers are to stop, which no thread is interrupted by. */
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

/* Where the first follower begins; there is one if it begins anywhere but now. CLI_OK, or after an error message. */
static int load_id(const struct event_follow_options *options, struct follower *follower)
{
    int error = options->state != NULL ? event_id_load(options->state, follower->id) : -ENOENT;

    if (error != 0 && error != -ENOENT)
        return cli_fail(CLI_USAGE, "--state: '%s': %s", options->state,
                        error == -EINVAL ? "expected a file with EPOCH-SEQUENCE in it, or none" : strerror(-error));
    if (error != 0 && options->since_id != NULL)
        snprintf(follower->id, sizeof(follower->id), "%s", options->since_id);
    return CLI_OK;
}

/* Until all have ended. Returns the worst of their exit statuses. */
static int follow_all(struct following *shared, struct follower *followers)
{
    size_t count = hosts_count(shared->hosts);
    int status = CLI_OK;

    for (size_t i = 0; i < count; i++) {
        followers[i].shared = shared;
        followers[i].host = i;
        followers[i].started = pthread_create(&followers[i].thread, NULL, follow, &followers[i]) == 0;
        if (!followers[i].started) {
            cli_error("no thread could be started for %s", host_of(&followers[i]));
            followers[i].status = CLI_UNREACHABLE;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (followers[i].started)
            pthread_join(followers[i].thread, NULL);
        if (followers[i].status > status)
            status = followers[i].status;
    }
    return status;
}

int event_follow(struct hosts *hosts, const struct event_follow_options *options)
{
    struct following shared = {.hosts = hosts, .options = options, .mutex = PTHREAD_MUTEX_INITIALIZER};
    struct follower *followers = calloc(hosts_count(hosts), sizeof(*followers));
    int status = CLI_UNREACHABLE;

    if (followers == NULL) {
        cli_error("out of memory");
        return status;
    }
    shared.stop_descriptor = open_stop();
    event_table_init(&shared.list, hosts, options->json, false);
    if (shared.stop_descriptor < 0)
        cli_error("signalfd: %s", strerror(errno));
    else
        status = load_id(options, &followers[0]);
    if (status == CLI_OK && options->command == NULL) {
        list_begin(&shared.list);
        status = cli_flush() ? CLI_OK : CLI_OUTPUT;
    }
    if (status == CLI_OK)
        status = follow_all(&shared, followers);
    if (shared.stop_descriptor >= 0)
        close(shared.stop_descriptor);
    free(followers);
    return status;
}
