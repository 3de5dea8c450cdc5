/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - makes the server, runs its thread, and carries what other threads bring into it.
 *
 * Guarantees
 *   A. One thread runs the loop and touches connections, pages and askings; others only put something into the
 *      mailbox and wake it. No lock is held while anything is built or sent.
 *   B. That thread takes no signal: those are the business of whoever started it.
 *   C. Stopping takes a second at most.
 *
 * Of libevent this takes the loop and its buffers, not evhttp: in 2.1.12 what that answers to a malformed request is
 * HTML of its own that no callback sees, it reads without bound from who does not listen, it takes the body of a HEAD
 * for the next request, and a connection is known only once it has asked, so that none can be dropped for another.
 */
#include "net/http.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include "net/connection.h"
#include "os/clock.h"

#define MS 1000000u
#define SECOND_NS UINT64_C(1000000000)
#define STOP_NS SECOND_NS

/*
 * Blocks of this size are mappings of their own, which go back to the system when they are freed. Without it glibc
 * takes the first such block that is freed as a reason to keep the next ones, and one large list stays for ever.
 */
#define OWN_MAPPING_BYTES 65536

static const struct http_limits default_limits = {
    .connections_max = HTTP_CONNECTIONS_MAX,
    .streams_max = HTTP_STREAMS_MAX,
    .body_bytes_max = HTTP_BODY_BYTES_MAX,
    .idle_ns = HTTP_IDLE_S * SECOND_NS,
    .request_ns = HTTP_REQUEST_S * SECOND_NS,
    .stall_ns = HTTP_STALL_S * SECOND_NS,
    .answer_ns = HTTP_ANSWER_S * SECOND_NS,
    .heartbeat_ns = HTTP_HEARTBEAT_S * SECOND_NS,
    .linger_ns = HTTP_LINGER_S * SECOND_NS,
    .wait_ns = HTTP_WAIT_S * SECOND_NS,
    .sweep_ns = 500 * MS,
};

struct timeval http_timeval(uint64_t duration_ns)
{
    return (struct timeval){
        .tv_sec = (time_t)(duration_ns / SECOND_NS),
        .tv_usec = (suseconds_t)(duration_ns % SECOND_NS / 1000),
    };
}

void http_set_limits(struct http *http, const struct http_limits *limits)
{
    http->limits = *limits;
}

static void take_snapshot(struct http *http, struct snapshot *snapshot)
{
    snapshot_unref(http->snapshot);
    http->snapshot = snapshot;
    pages_forget_before(&http->pages, snapshot->sequence);
    askings_free_bodies(http);
}

/* Takes over hosts: the names that every request from now on is held against. */
static void take_hosts(struct http *http, struct hosts hosts)
{
    hosts_done(&http->hosts);
    http->hosts = hosts;
    for (size_t i = 0; i < http->door_count; i++) {
        http->doors[i].rules.allow_hosts = (const char *const *)hosts.names;
        http->doors[i].rules.allow_host_count = hosts.count;
    }
}

static void begin_stop(struct http *http)
{
    struct timeval limit = http_timeval(STOP_NS);
    struct connection *next;

    http->stopping = true;
    accept_stop(http);
    event_del(http->resume_event);
    askings_abandon(http);
    streams_end(http);
    for (struct connection *connection = http->connections; connection != NULL; connection = next) {
        next = connection->next;
        if (connection->state != CONNECTION_WRITING)
            connection_close(connection);
    }
    if (http->connection_count == 0)
        event_base_loopbreak(http->base);
    else
        event_add(http->stop_event, &limit);
}

static void on_stop_limit(evutil_socket_t descriptor, short what, void *argument)
{
    struct http *http = argument;

    (void)descriptor;
    (void)what;
    event_base_loopbreak(http->base);
}

/* One page at most: others first. */
static void on_wake(evutil_socket_t descriptor, short what, void *argument)
{
    struct http *http = argument;
    struct mail mail;
    eventfd_t value;

    (void)what;
    if (eventfd_read(descriptor, &value) < 0)
        return;
    mailbox_take(&http->mailbox, asking_items_max(http), &mail);
    if (mail.hosts.names != NULL)
        take_hosts(http, mail.hosts);
    if (mail.snapshot != NULL)
        take_snapshot(http, mail.snapshot);
    if (mail.events.count != 0) {
        event_store_move(&http->events, &mail.events);
        streams_advance(http);
    }
    if (mail.found) {
        asking_complete(http, mail.completion.ticket, mail.completion.page);
        page_unref(mail.completion.page);
        mailbox_wake(&http->mailbox); /* there may be more */
    }
    if (mail.stop && !http->stopping)
        begin_stop(http);
}

static int copy_hosts(struct http *http, const struct http_options *options, char **ret_error)
{
    const char *wrong = NULL;
    int status = hosts_copy(&http->hosts, options->allow_hosts, options->allow_host_count, &wrong);

    if (status == -EINVAL && asprintf(ret_error, "--allow-host %s: not a host name", wrong) < 0)
        *ret_error = NULL;
    return status;
}

static void add_door(struct http *http, const struct listener *listener)
{
    struct door *door = &http->doors[http->door_count++];

    door->http = http;
    door->listener = *listener;
    door->rules = (struct access_rules){
        .allow_hosts = (const char *const *)http->hosts.names,
        .allow_host_count = http->hosts.count,
        .own_address = listener->literal[0] == '\0' ? NULL : door->listener.literal,
        .is_unix = listener->is_unix,
    };
}

static int open_door(struct http *http, const char *text, char **ret_error)
{
    struct listener listener;
    const char *reason;
    int status;

    status = http->door_count == HTTP_LISTENERS_MAX ? -E2BIG : listener_open(&listener, text);
    if (status < 0) {
        reason = status == -EINVAL  ? "expected ADDR:PORT, [ADDR6]:PORT or unix:PATH, with a numeric address"
                 : status == -E2BIG ? "too many addresses"
                                    : strerror(-status);
        if (asprintf(ret_error, "--listen %s: %s", text, reason) < 0)
            *ret_error = NULL;
        return status;
    }
    add_door(http, &listener);
    return 0;
}

static int open_passed_door(struct http *http, const struct http_passed *passed, char **ret_error)
{
    struct listener listener;
    const char *reason = "is one too many";
    int status;

    status = http->door_count == HTTP_LISTENERS_MAX ? -E2BIG : listener_adopt(&listener, passed->descriptor, &reason);
    if (status < 0) {
        if (asprintf(ret_error, "LISTEN_FDS: descriptor %d (%s) %s; expected a stream socket that listens",
                     passed->descriptor, passed->name, reason) < 0)
            *ret_error = NULL;
        return status;
    }
    add_door(http, &listener);
    return 0;
}

/*
 * A loop that looks for what is new after a few callbacks. libevent's own runs all that is active first, and a client
 * that goes on asking without a pause is active for ever: nobody else would be heard, nor that it is time to stop.
 */
static struct event_base *new_fair_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config == NULL)
        return NULL;
    if (event_config_set_max_dispatch_interval(config, NULL, HTTP_CALLBACKS_PER_TURN, 0) == 0)
        base = event_base_new_with_config(config);
    event_config_free(config);
    return base;
}

static int open_loop(struct http *http)
{
    int status = mailbox_open(&http->mailbox);

    if (status < 0)
        return status;
    http->base = new_fair_base();
    if (http->base == NULL)
        return -ENOMEM;
    http->wake_event = event_new(http->base, http->mailbox.descriptor, EV_READ | EV_PERSIST, on_wake, http);
    http->stop_event = evtimer_new(http->base, on_stop_limit, http);
    if (http->wake_event == NULL || http->stop_event == NULL || event_add(http->wake_event, NULL) < 0)
        return -ENOMEM;
    status = askings_prepare(http);
    return status < 0 ? status : accept_prepare(http);
}

/* Tells this run of the server from others. */
static uint64_t random_number(void)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
        number = clock_wall_ns(); /* early at boot */
    return number;
}

void http_set_epoch(struct http *http, uint64_t epoch)
{
    http->epoch = epoch;
}

int http_new(struct http **ret_http, const struct http_options *options, const struct http_source *source,
             char **ret_error)
{
    struct http *http = calloc(1, sizeof(*http));
    char *error = NULL;
    int status;

    if (http == NULL)
        return -ENOMEM;
    (void)mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
    mailbox_init(&http->mailbox);
    http->source = *source;
    http->limits = default_limits;
    http->instance = random_number();
    http->epoch = http->instance;
    status = copy_hosts(http, options, &error);
    for (size_t i = 0; status == 0 && i < options->passed_count; i++)
        status = open_passed_door(http, &options->passed[i], &error);
    for (size_t i = 0; status == 0 && i < options->listen_count; i++)
        status = open_door(http, options->listen[i], &error);
    if (status == 0)
        status = open_loop(http);
    if (status < 0) {
        if (error == NULL && asprintf(&error, "HTTP: %s", strerror(-status)) < 0)
            error = NULL;
        http_free(http);
        *ret_error = error;
        return status;
    }
    *ret_http = http;
    return 0;
}

const char *http_address(const struct http *http, size_t i)
{
    return i < http->door_count ? http->doors[i].listener.address : NULL;
}

static void *run(void *argument)
{
    struct http *http = argument;

    event_base_dispatch(http->base);
    return NULL;
}

int http_start(struct http *http)
{
    sigset_t all;
    sigset_t before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    error = pthread_create(&http->thread, NULL, run, http);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        return -error;
    http->started = true;
    pthread_setname_np(http->thread, "ripd-http");
    return 0;
}

static void free_event(struct event *event)
{
    if (event != NULL)
        event_free(event);
}

void http_free(struct http *http)
{
    if (http == NULL)
        return;
    http_stop(http);
    http->stopping = false;
    while (http->connections != NULL)
        connection_close(http->connections);
    for (size_t i = 0; i < http->door_count; i++) {
        free_event(http->doors[i].event);
        listener_close(&http->doors[i].listener);
    }
    free_event(http->wake_event);
    free_event(http->sweep_event);
    free_event(http->resume_event);
    free_event(http->stop_event);
    free_event(http->build_event);
    if (http->base != NULL)
        event_base_free(http->base);
    pages_done(&http->pages);
    snapshot_unref(http->snapshot);
    event_store_done(&http->events);
    mailbox_done(&http->mailbox);
    hosts_done(&http->hosts);
    free(http);
}
