/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - makes the server, runs its thread, accepts clients, and delivers what other threads hand over.
 *
 * Guarantees
 *   A. One thread runs the loop and owns struct server. Other threads only put something into the mailbox and wake it.
 *      No lock is held while anything is built or sent.
 *   B. That thread handles no signal.
 *   C. Stopping takes at most a second.
 *   D. The mailbox is bounded: one snapshot, one list of names, at most as many events as the store holds, and the
 *      answers to pending queries.
 *   E. There are never more than http_limits.connections_max connections. At the limit, and when file descriptors or
 *      memory run out, the connection that has been incomplete for longest is dropped for the new one. If none can be
 *      dropped, accepting pauses; the loop never spins on it.
 *
 * Only the loop and the buffers of libevent are used, not evhttp. evhttp 2.1.12 answers a malformed request with its
 * own HTML, without a callback. It reads without bound from a client that does not read. It takes the body of a HEAD
 * for the next request. It exposes a connection only after its first request, so that no idle one can be dropped.
 */
#include "net/http.h"

#include <argz.h>
#include <errno.h>
#include <event2/event.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/connection.h"
#include "net/listener.h"
#include "net/pending.h"
#include "net/streams.h"
#include "os/clock.h"
#include "os/random.h"

#define SECOND_NS UINT64_C(1000000000)
#define STOP_NS (SECOND_NS / 2) /* the sweep notices it at most half a second later */

/*
 * Blocks of this size get their own mapping, which is unmapped when they are freed. Otherwise glibc raises its
 * threshold when the first such block is freed, and the memory of one large list is never returned.
 */
#define OWN_MAPPING_BYTES 65536

const struct http_limits http_default_limits = {
    .connections_max = HTTP_CONNECTIONS_MAX,
    .streams_max = HTTP_STREAMS_MAX,
    .lists_bytes_max = HTTP_LISTS_BYTES_MAX,
    .idle_ns = HTTP_IDLE_S * SECOND_NS,
    .request_ns = HTTP_REQUEST_S * SECOND_NS,
    .stall_ns = HTTP_STALL_S * SECOND_NS,
    .answer_ns = HTTP_ANSWER_S * SECOND_NS,
    .heartbeat_ns = HTTP_HEARTBEAT_S * SECOND_NS,
    .linger_ns = HTTP_LINGER_S * SECOND_NS,
    .wait_ns = HTTP_WAIT_S * SECOND_NS,
    .sweep_ns = SECOND_NS / 2,
};

struct completion {
    uint64_t ticket;
    struct page *page;
};

/* What other threads have handed over. */
struct mail {
    struct snapshot *snapshot; /* NULL: no new one */
    struct access_hosts hosts;
    bool has_hosts; /* hosts is new */
    struct event_store events;
    struct completion completions[HTTP_QUERIES_AT_WORK_MAX];
    size_t completion_count;
    bool stop;
};

struct mailbox {
    pthread_mutex_t mutex;
    int descriptor; /* eventfd: there is mail */
    struct mail mail;
};

/* A listener, and the access rules there. */
struct http_listener {
    struct http *http;
    struct listener socket;
    struct access_rules rules;
    struct event *event;
};

struct http {
    struct server server;
    struct http_listener listeners[HTTP_LISTENERS_MAX];
    size_t listener_count;
    struct access_hosts hosts; /* names from --allow-host */
    struct event *wake_event;
    struct event *sweep_event;
    bool paused;          /* accepting is paused until the next sweep */
    uint64_t stop_end_ns; /* 0 = not stopping */
    struct mailbox mailbox;
    pthread_t thread;
    bool started;
};

static struct timeval timeval_of(uint64_t duration_ns)
{
    return (struct timeval){
        .tv_sec = (time_t)(duration_ns / SECOND_NS),
        .tv_usec = (suseconds_t)(duration_ns % SECOND_NS / 1000),
    };
}

/* Copies all names or none. Returns 0 or -ENOMEM. */
static int copy_hosts(struct access_hosts *ret_hosts, const char *const *names, size_t count)
{
    struct access_hosts hosts = {NULL, 0};

    for (size_t i = 0; i < count; i++) {
        if (argz_add(&hosts.names, &hosts.bytes, names[i]) != 0) {
            free(hosts.names);
            return -ENOMEM;
        }
    }
    *ret_hosts = hosts;
    return 0;
}

/* Accepting -------------------------------------------------------------------------------------------------------- */

static void set_accepting(struct http *http, bool on)
{
    for (size_t i = 0; i < http->listener_count; i++) {
        if (on && !http->server.stopping)
            event_add(http->listeners[i].event, NULL);
        else
            event_del(http->listeners[i].event);
    }
}

static void want_sweep(struct http *http)
{
    struct timeval sweep = timeval_of(http->server.limits.sweep_ns);

    if (!event_pending(http->sweep_event, EV_TIMEOUT, NULL))
        event_add(http->sweep_event, &sweep);
}

static void pause_accepting(struct http *http)
{
    http->server.health.limit_counts[HEALTH_LIMIT_ACCEPTS]++;
    set_accepting(http, false);
    http->paused = true;
    want_sweep(http);
}

static void admit(struct http_listener *own, int descriptor)
{
    struct http *http = own->http;
    struct server *server = &http->server;

    if (server->connection_count - server->stream_count >= server->limits.connections_max)
        connections_drop_one(server);
    if (connection_open(server, &own->rules, descriptor) < 0)
        return;
    server->health.accepted_count++;
    want_sweep(http);
}

/* Returns true if accepting can continue in this turn. */
static bool accept_failed(struct http *http, int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        if (connections_drop_one(&http->server))
            return true;
        pause_accepting(http);
        return false;
    case EAGAIN:
        return false;
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
        pause_accepting(http);
        return false;
    default: /* only this connection failed: it has gone, or was refused */
        return true;
    }
}

static void on_connection(evutil_socket_t listening, short what, void *argument)
{
    struct http_listener *own = argument;

    (void)what;
    for (unsigned i = 0; i < HTTP_ACCEPTS_PER_TURN; i++) {
        int descriptor = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (descriptor >= 0)
            admit(own, descriptor);
        else if (!accept_failed(own->http, errno))
            return;
    }
}

static void on_sweep(evutil_socket_t descriptor, short what, void *argument)
{
    struct http *http = argument;
    uint64_t now_ns = clock_mono_ns();

    (void)descriptor;
    (void)what;
    pending_expire(http->server.queries, now_ns);
    connections_expire(&http->server, now_ns);
    if (http->paused)
        set_accepting(http, true);
    http->paused = false;
    if (http->stop_end_ns != 0 && now_ns >= http->stop_end_ns)
        event_base_loopbreak(http->server.base);
    if (http->server.connection_count == 0 && pending_is_empty(http->server.queries))
        event_del(http->sweep_event);
}

/* The mailbox ------------------------------------------------------------------------------------------------------ */

static struct mail *lock_mail(struct http *http)
{
    pthread_mutex_lock(&http->mailbox.mutex);
    return &http->mailbox.mail;
}

static void unlock_mail(struct http *http)
{
    pthread_mutex_unlock(&http->mailbox.mutex);
    (void)eventfd_write(http->mailbox.descriptor, 1); /* fails only if the thread is awake already */
}

void http_publish(struct http *http, struct snapshot *snapshot)
{
    struct mail *mail = lock_mail(http);
    struct snapshot *replaced = mail->snapshot;

    mail->snapshot = snapshot_ref(snapshot);
    unlock_mail(http);
    snapshot_unref(replaced);
}

void http_publish_event(struct http *http, struct event *event)
{
    (void)event_store_add(&lock_mail(http)->events, event_ref(event)); /* out of memory: the streams get a gap */
    unlock_mail(http);
}

int http_allow_hosts(struct http *http, const char *const *names, size_t count)
{
    struct access_hosts hosts, replaced;
    struct mail *mail;
    int status = copy_hosts(&hosts, names, count);

    if (status < 0)
        return status;
    mail = lock_mail(http);
    replaced = mail->hosts;
    mail->hosts = hosts;
    mail->has_hosts = true;
    unlock_mail(http);
    free(replaced.names);
    return 0;
}

void http_complete(struct http *http, uint64_t ticket, struct page *page)
{
    struct mail *mail = lock_mail(http);

    if (mail->completion_count < HTTP_QUERIES_AT_WORK_MAX) { /* no more queries were sent */
        mail->completions[mail->completion_count++] = (struct completion){ticket, page};
        page = NULL;
    }
    unlock_mail(http);
    page_unref(page);
}

void http_stop(struct http *http)
{
    if (!http->started)
        return;
    lock_mail(http)->stop = true;
    unlock_mail(http);
    pthread_join(http->thread, NULL);
    http->started = false;
}

static void mailbox_done(struct mailbox *mailbox)
{
    struct mail *mail = &mailbox->mail;

    snapshot_unref(mail->snapshot);
    event_store_done(&mail->events);
    free(mail->hosts.names);
    for (size_t i = 0; i < mail->completion_count; i++)
        page_unref(mail->completions[i].page);
    if (mailbox->descriptor >= 0)
        close(mailbox->descriptor);
    pthread_mutex_destroy(&mailbox->mutex);
}

static void begin_stop(struct http *http)
{
    struct server *server = &http->server;
    struct connection *next;

    server->stopping = true;
    set_accepting(http, false);
    pending_abandon(server->queries);
    streams_end(server);
    for (struct connection *connection = LIST_FIRST(&server->connections); connection != NULL; connection = next) {
        next = LIST_NEXT(connection, entry);
        if (connection->state != CONNECTION_WRITING)
            connection_close(connection);
    }
    http->stop_end_ns = clock_mono_ns() + STOP_NS;
    want_sweep(http);
    if (server->connection_count == 0)
        event_base_loopbreak(server->base);
}

static void on_wake(evutil_socket_t descriptor, short what, void *argument)
{
    struct http *http = argument;
    struct server *server = &http->server;
    struct mail mail;
    eventfd_t value;

    (void)what;
    if (eventfd_read(descriptor, &value) < 0)
        return;
    pthread_mutex_lock(&http->mailbox.mutex);
    mail = http->mailbox.mail;
    http->mailbox.mail = (struct mail){.events = {.newest_sequence = mail.events.newest_sequence}, .stop = mail.stop};
    pthread_mutex_unlock(&http->mailbox.mutex);
    if (mail.has_hosts) {
        free(http->hosts.names);
        http->hosts = mail.hosts;
    }
    if (mail.snapshot != NULL) {
        snapshot_unref(server->snapshot);
        server->snapshot = mail.snapshot;
        lists_forget_before(server->lists, mail.snapshot->sequence);
    }
    if (mail.events.count != 0) {
        event_store_move(&server->events, &mail.events);
        streams_advance(server);
    }
    for (size_t i = 0; i < mail.completion_count; i++) {
        pending_complete(server->queries, mail.completions[i].ticket, mail.completions[i].page);
        page_unref(mail.completions[i].page);
    }
    if (mail.stop && !server->stopping)
        begin_stop(http);
}

/* Setup and shutdown ----------------------------------------------------------------------------------------------- */

static void add_listener(struct http *http, const struct listener *listener)
{
    struct http_listener *own = &http->listeners[http->listener_count++];

    own->http = http;
    own->socket = *listener;
    own->rules = (struct access_rules){
        .allowed = &http->hosts,
        .own_address = listener->literal[0] == '\0' ? NULL : own->socket.literal,
        .is_unix = listener->is_unix,
    };
}

static int open_listener(struct http *http, const char *text, char **ret_error)
{
    struct listener listener;
    int status = http->listener_count == HTTP_LISTENERS_MAX ? -E2BIG : listener_open(&listener, text);
    const char *reason = status == -EINVAL  ? "expected ADDR:PORT, [ADDR6]:PORT or unix:PATH, with a numeric address"
                         : status == -E2BIG ? "too many addresses"
                                            : strerror(-status);

    if (status == 0)
        add_listener(http, &listener);
    else if (asprintf(ret_error, "--listen %s: %s", text, reason) < 0)
        *ret_error = NULL;
    return status;
}

static int open_passed(struct http *http, const struct http_passed *passed, char **ret_error)
{
    struct listener listener;
    const char *reason = "exceeds the limit of listeners";
    int status =
        http->listener_count == HTTP_LISTENERS_MAX ? -E2BIG : listener_adopt(&listener, passed->descriptor, &reason);

    if (status == 0)
        add_listener(http, &listener);
    else if (asprintf(ret_error, "LISTEN_FDS: descriptor %d (%s) %s; expected a stream socket that listens",
                      passed->descriptor, passed->name, reason) < 0)
        *ret_error = NULL;
    return status;
}

static int open_listeners(struct http *http, const struct http_options *options, char **ret_error)
{
    int status = copy_hosts(&http->hosts, options->allow_hosts, options->allow_host_count);

    for (size_t i = 0; status == 0 && i < options->passed_count; i++)
        status = open_passed(http, &options->passed[i], ret_error);
    for (size_t i = 0; status == 0 && i < options->listen_count; i++)
        status = open_listener(http, options->listen[i], ret_error);
    return status;
}

/*
 * Returns a loop that polls again after a few callbacks. By default libevent runs all active callbacks first. A client
 * that sends requests without pause is always active: other clients and the stop flag would starve.
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
    struct server *server = &http->server;

    http->mailbox.descriptor = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (http->mailbox.descriptor < 0)
        return -errno;
    server->base = new_fair_base();
    if (server->base == NULL)
        return -ENOMEM;
    http->wake_event = event_new(server->base, http->mailbox.descriptor, EV_READ | EV_PERSIST, on_wake, http);
    http->sweep_event = event_new(server->base, -1, EV_PERSIST, on_sweep, http);
    server->queries = pending_new(server);
    if (http->wake_event == NULL || http->sweep_event == NULL || server->queries == NULL ||
        event_add(http->wake_event, NULL) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < http->listener_count; i++) {
        struct http_listener *own = &http->listeners[i];

        own->event = event_new(server->base, own->socket.descriptor, EV_READ | EV_PERSIST, on_connection, own);
        if (own->event == NULL)
            return -ENOMEM;
    }
    set_accepting(http, true);
    return 0;
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
    pthread_mutex_init(&http->mailbox.mutex, NULL);
    http->mailbox.descriptor = -1;
    http->server.source = *source;
    http->server.limits = http_default_limits;
    http->server.epoch = random_u64(); /* identifies this run of the server */
    http->server.lists = lists_new(http->server.epoch);
    status = http->server.lists == NULL ? -ENOMEM : open_listeners(http, options, &error);
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

void http_set_limits(struct http *http, const struct http_limits *limits)
{
    http->server.limits = *limits;
}

void http_set_epoch(struct http *http, uint64_t epoch)
{
    http->server.epoch = epoch;
}

const char *http_address(const struct http *http, size_t i)
{
    return i < http->listener_count ? http->listeners[i].socket.address : NULL;
}

void server_health(const struct server *server, struct health_http *ret_health)
{
    *ret_health = server->health;
    ret_health->connection_count = server->connection_count - server->stream_count;
    ret_health->connections_max = server->limits.connections_max;
    ret_health->stream_count = server->stream_count;
    ret_health->streams_max = server->limits.streams_max;
    ret_health->list_bytes = lists_bytes(server->lists);
    ret_health->list_bytes_max = server->limits.lists_bytes_max;
    ret_health->event_count = server->events.count;
    ret_health->events_max = EVENT_STORE_COUNT_MAX;
    ret_health->event_bytes = server->events.bytes;
    ret_health->event_bytes_max = EVENT_STORE_BYTES_MAX;
}

void http_health(const struct http *http, struct health_http *ret_health)
{
    server_health(&http->server, ret_health);
}

static void *run(void *argument)
{
    struct http *http = argument;

    event_base_dispatch(http->server.base);
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
    struct server *server;

    if (http == NULL)
        return;
    http_stop(http);
    server = &http->server;
    server->stopping = false;
    while (!LIST_EMPTY(&server->connections))
        connection_close(LIST_FIRST(&server->connections));
    for (size_t i = 0; i < http->listener_count; i++) {
        free_event(http->listeners[i].event);
        listener_close(&http->listeners[i].socket);
    }
    pending_free(server->queries);
    free_event(http->wake_event);
    free_event(http->sweep_event);
    if (server->base != NULL)
        event_base_free(server->base);
    lists_free(server->lists);
    snapshot_unref(server->snapshot);
    event_store_done(&server->events);
    mailbox_done(&http->mailbox);
    free(http->hosts.names);
    free(http);
}
