/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.c - the life of one client connection.
 *
 *      +--> READING --> (WAITING) --> WRITING --+--> LINGERING --> closed
 *      +----------------------------------------+
 *
 * The read event is enabled in the states READING, LINGERING and STREAMING, and disabled while an answer cannot be sent
 * at once. So a client that sends requests without reading is stopped by its own socket buffer. A client that closes
 * while it waits is noticed when its answer is sent, at most http_limits.wait_ns later.
 */
#include "net/connection.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/handlers.h"
#include "net/pending.h"
#include "net/streams.h"
#include "os/clock.h"
#include "util/array.h"
#include "util/text.h"

#define INPUT_BYTES_FIRST 2048u
#define LOADS_NOTHING "default-src 'none'; frame-ancestors 'none'"
#define COPIED_BYTES_MAX 4096u /* for short lists a copy is cheaper than a reference */

static const struct http_request no_request = {.minor_version = 1};

static void on_readable(evutil_socket_t descriptor, short what, void *argument);
static void on_writable(evutil_socket_t descriptor, short what, void *argument);

static void enter_state(struct connection *connection, enum connection_state state)
{
    connection->state = state;
    connection->since_ns = clock_mono_ns();
    connection->progress_ns = connection->since_ns;
}

static void release(struct connection *connection)
{
    if (connection->read_event != NULL)
        event_free(connection->read_event);
    if (connection->write_event != NULL)
        event_free(connection->write_event);
    if (connection->output != NULL)
        evbuffer_free(connection->output);
    free(connection->input);
    close(connection->descriptor);
    free(connection);
}

int connection_open(struct server *server, const struct access_rules *rules, int descriptor)
{
    struct connection *connection = calloc(1, sizeof(*connection));

    if (connection == NULL) {
        close(descriptor);
        return -ENOMEM;
    }
    connection->server = server;
    connection->rules = rules;
    connection->descriptor = descriptor;
    connection->keep_alive = true;
    connection->request = no_request;
    connection->output = evbuffer_new();
    connection->read_event = event_new(server->base, descriptor, EV_READ | EV_PERSIST, on_readable, connection);
    connection->write_event = event_new(server->base, descriptor, EV_WRITE, on_writable, connection);
    if (connection->output == NULL || connection->read_event == NULL || connection->write_event == NULL ||
        event_add(connection->read_event, NULL) < 0) {
        release(connection);
        return -ENOMEM;
    }
    enter_state(connection, CONNECTION_READING);
    LIST_INSERT_HEAD(&server->connections, connection, entry);
    server->connection_count++;
    return 0;
}

void connection_close(struct connection *connection)
{
    struct server *server = connection->server;

    if (connection->state == CONNECTION_CLOSED)
        return;
    pending_leave(connection);
    stream_leave(connection);
    connection->state = CONNECTION_CLOSED;
    LIST_REMOVE(connection, entry);
    server->connection_count--;
    if (server->stopping && server->connection_count == 0)
        event_base_loopbreak(server->base);
    if (!connection->entered)
        release(connection);
}

/* Drops bytes from the front of the input. */
static void consume(struct connection *connection, size_t bytes)
{
    connection->input_bytes -= bytes;
    connection->scanned_bytes = 0;
    if (connection->input_bytes != 0) {
        memmove(connection->input, connection->input + bytes, connection->input_bytes);
        connection->request_since_ns = clock_mono_ns();
        return;
    }
    connection->request_since_ns = 0;
    if (connection->input_capacity > INPUT_BYTES_FIRST) { /* most connections are idle most of the time */
        free(connection->input);
        connection->input = NULL;
        connection->input_capacity = 0;
    }
}

/* Called when the last byte of an answer has been sent. */
static void answer_done(struct connection *connection)
{
    if (connection->keep_alive && !connection->server->stopping) {
        consume(connection, connection->head_bytes);
        enter_state(connection, CONNECTION_READING);
    } else {
        shutdown(connection->descriptor, SHUT_WR);
        connection->input_bytes = 0;
        enter_state(connection, CONNECTION_LINGERING);
    }
    connection->request = no_request;
    connection->head_bytes = 0;
    if (connection->server->stopping || event_add(connection->read_event, NULL) < 0)
        connection_close(connection);
}

bool connection_send(struct connection *connection)
{
    int sent = evbuffer_write_atmost(connection->output, connection->descriptor, HTTP_WRITE_BYTES_MAX);

    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        connection_close(connection);
        return false;
    }
    if (sent > 0)
        connection->progress_ns = clock_mono_ns();
    return true;
}

/* Sends what the socket accepts; the rest when it is writable again. */
static void send_output(struct connection *connection)
{
    if (!connection_send(connection))
        return;
    if (evbuffer_get_length(connection->output) == 0) {
        answer_done(connection);
        return;
    }
    event_del(connection->read_event);
    if (event_add(connection->write_event, NULL) < 0)
        connection_close(connection);
}

static const char *phrase_of(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {
        {200, "OK"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {421, "Misdirected Request"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(phrases); i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "Unknown";
}

/* Used by the HTTP thread only. The text is made once per second. */
static const char *date_now(void)
{
    static _Thread_local char text[32];
    static _Thread_local time_t text_second;
    time_t second = (time_t)(clock_wall_ns() / 1000000000);
    struct tm parts;

    if (second != text_second && gmtime_r(&second, &parts) != NULL) {
        evutil_date_rfc1123(text, sizeof(text), &parts);
        text_second = second;
    }
    return text;
}

/* Returns the field only if the value is not the default of the client's HTTP version. */
static const char *connection_field(const struct connection *connection)
{
    if (!connection->keep_alive)
        return "Connection: close\r\n";
    return connection->request.minor_version == 0 ? "Connection: keep-alive\r\n" : "";
}

static int write_head(struct connection *connection, const struct answer *answer)
{
    size_t length =
        answer->text_bytes + answer->constant_bytes + (answer->list == NULL ? 0 : answer->list->document.body_bytes);
    char content[128] = "", cache[64 + ETAG_TEXT_BYTES] = "Cache-Control: no-store\r\n";

    if (answer->content_type != NULL)
        text_append(content, sizeof(content), "Content-Type: %s\r\n", answer->content_type);
    if (answer->content_type != NULL && !answer->endless)
        text_append(content, sizeof(content), "Content-Length: %zu\r\n", length);
    if (answer->tag != NULL)
        snprintf(cache, sizeof(cache), "Cache-Control: private, no-cache\r\nETag: %s\r\n", answer->tag);
    if (evbuffer_add_printf(connection->output,
                            "HTTP/1.1 %d %s\r\n"
                            "Date: %s\r\n"
                            "%s%s"
                            "X-Content-Type-Options: nosniff\r\n"
                            "Cross-Origin-Resource-Policy: same-origin\r\n"
                            "Content-Security-Policy: %s\r\n"
                            "%s%s\r\n",
                            answer->status, phrase_of(answer->status), date_now(), content, cache,
                            answer->policy == NULL ? LOADS_NOTHING : answer->policy,
                            answer->extra_fields == NULL ? "" : answer->extra_fields, connection_field(connection)) < 0)
        return -ENOMEM;
    return 0;
}

static void release_list(const void *data, size_t length, void *argument)
{
    (void)data;
    (void)length;
    list_unref(argument);
}

static int add_list(struct connection *connection, struct list *list)
{
    const char *body = list->document.body;
    const size_t bytes = list->document.body_bytes;

    if (bytes <= COPIED_BYTES_MAX)
        return evbuffer_add(connection->output, body, bytes);
    if (evbuffer_add_reference(connection->output, body, bytes, release_list, list_ref(list)) == 0)
        return 0;
    list_unref(list);
    return -1;
}

void connection_answer(struct connection *connection, const struct answer *answer)
{
    bool head_only = connection->request.method == REQUEST_HEAD;
    int status;

    if (connection->state != CONNECTION_CLOSED) {
        enter_state(connection, CONNECTION_WRITING);
        status = write_head(connection, answer);
        if (status == 0 && !head_only && answer->text != NULL)
            status = evbuffer_add(connection->output, answer->text, answer->text_bytes);
        if (status == 0 && !head_only && answer->constant != NULL)
            status = evbuffer_add_reference(connection->output, answer->constant, answer->constant_bytes, NULL, NULL);
        if (status == 0 && !head_only && answer->list != NULL)
            status = add_list(connection, answer->list);
        if (status == 0)
            send_output(connection);
        else
            connection_close(connection); /* out of memory, with part of an answer in the buffer */
    }
    free(answer->text);
}

void connection_problem(struct connection *connection, int status, const char *detail, const char *parameter,
                        const char *extra_fields)
{
    struct answer answer = {.status = status, .content_type = "application/problem+json", .extra_fields = extra_fields};

    if (document_problem(status, phrase_of(status), detail, parameter, &answer.text, &answer.text_bytes) < 0)
        connection_close(connection);
    else
        connection_answer(connection, &answer);
}

struct span connection_key(const struct connection *connection)
{
    struct span path = connection->request.path, query = connection->request.query;

    return (struct span){path.bytes,
                         query.length == 0 ? path.length : (size_t)(query.bytes - path.bytes) + query.length};
}

void connection_wait(struct connection *connection)
{
    enter_state(connection, CONNECTION_WAITING);
    event_del(connection->read_event);
}

int connection_start_stream(struct connection *connection, const struct answer *answer)
{
    enter_state(connection, CONNECTION_STREAMING);
    return write_head(connection, answer);
}

void connection_finish(struct connection *connection)
{
    enter_state(connection, CONNECTION_WRITING);
    send_output(connection);
}

static void answer_request(struct connection *connection)
{
    const struct http_request *request = &connection->request;
    struct access_verdict verdict = access_decide(connection->rules, request);

    connection->keep_alive = request->keep_alive && !request->has_body &&
                             verdict.status != 400; /* another parser may see more than one request in it */
    if (verdict.status != 0)
        connection_problem(connection, verdict.status, verdict.detail, NULL, NULL);
    else if (request->method == REQUEST_OTHER)
        connection_problem(connection, 405, "Only GET and HEAD are supported.", NULL, "Allow: GET, HEAD\r\n");
    else
        handle_request(connection);
}

/* Handles one request. Returns false if nothing more can be done now. */
static bool read_request(struct connection *connection)
{
    enum request_outcome outcome;
    struct request_fault fault;

    while (connection->input_bytes >= 2 && memcmp(connection->input, "\r\n", 2) == 0)
        consume(connection, 2); /* some clients send an empty line before a request */
    outcome = request_parse(connection->input, connection->input_bytes, connection->scanned_bytes, &connection->request,
                            &connection->head_bytes, &fault);
    if (outcome == REQUEST_INCOMPLETE) {
        connection->scanned_bytes = connection->input_bytes;
        return false;
    }
    connection->server->health.request_count++;
    if (outcome == REQUEST_BAD) {
        connection->keep_alive = false;
        connection_problem(connection, fault.status, fault.detail, NULL, NULL);
    } else {
        answer_request(connection);
    }
    return connection->state == CONNECTION_READING;
}

/* Answers the requests in the input. */
static void work_input(struct connection *connection)
{
    for (unsigned i = 0; connection->state == CONNECTION_READING; i++) {
        if (i == HTTP_REQUESTS_PER_TURN) {
            event_active(connection->read_event, EV_READ, 0); /* other clients first */
            return;
        }
        if (!read_request(connection))
            break;
    }
    if (connection->ended && connection->state == CONNECTION_READING)
        connection_close(connection); /* the rest of the input is not a complete request */
}

void connection_enter(struct connection *connection)
{
    connection->entered = true;
}

void connection_leave(struct connection *connection)
{
    work_input(connection);
    connection->entered = false;
    if (connection->state == CONNECTION_CLOSED)
        release(connection);
}

static int make_room(struct connection *connection)
{
    size_t capacity = connection->input_capacity == 0 ? INPUT_BYTES_FIRST : connection->input_capacity * 2;
    char *input;

    if (connection->input_bytes < connection->input_capacity || connection->input_capacity >= REQUEST_HEAD_BYTES_MAX)
        return 0;
    input = realloc(connection->input, capacity);
    if (input == NULL)
        return -ENOMEM;
    connection->input = input;
    connection->input_capacity = capacity;
    return 0;
}

/* Reads once. */
static void read_input(struct connection *connection)
{
    ssize_t count = -1;
    size_t room;

    if (make_room(connection) < 0)
        goto close;
    room = connection->input_capacity - connection->input_bytes;
    if (room == 0)
        return; /* unhandled requests fill the input */
    count = read(connection->descriptor, connection->input + connection->input_bytes, room);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count < 0)
        goto close;
    connection->ended |= count == 0;
    if (connection->input_bytes == 0 && count != 0)
        connection->request_since_ns = clock_mono_ns();
    connection->input_bytes += (size_t)count;
    return;
close:
    connection_close(connection);
}

static void on_readable(evutil_socket_t descriptor, short what, void *argument)
{
    struct connection *connection = argument;

    (void)descriptor;
    (void)what;
    connection_enter(connection);
    if (connection->state != CONNECTION_WAITING && connection->state != CONNECTION_WRITING)
        read_input(connection); /* while a request is answered, its spans point into the input */
    if (connection->state == CONNECTION_LINGERING || connection->state == CONNECTION_STREAMING) {
        connection->input_bytes = 0; /* nothing more is expected except that the client closes */
        if (connection->ended)
            connection_close(connection);
    }
    connection_leave(connection);
}

static void on_writable(evutil_socket_t descriptor, short what, void *argument)
{
    struct connection *connection = argument;

    (void)descriptor;
    (void)what;
    connection_enter(connection);
    if (connection->state == CONNECTION_STREAMING)
        stream_turn(connection);
    else if (connection->state == CONNECTION_WRITING)
        send_output(connection);
    connection_leave(connection);
}

static bool expired(uint64_t now_ns, uint64_t since_ns, uint64_t limit_ns)
{
    return now_ns > since_ns && now_ns - since_ns > limit_ns;
}

static void expire_reading(struct connection *connection, uint64_t now_mono_ns)
{
    struct server *server = connection->server;

    if (connection->request_since_ns != 0) {
        if (!expired(now_mono_ns, connection->request_since_ns, server->limits.request_ns))
            return;
        server->health.limit_counts[HEALTH_LIMIT_REQUEST_TIME]++;
        connection->keep_alive = false;
        connection_problem(connection, 408, "The request head was not received in time.", NULL, NULL);
    } else if (expired(now_mono_ns, connection->since_ns, server->limits.idle_ns)) {
        connection_close(connection);
    }
}

static void expire(struct connection *connection, uint64_t now_mono_ns)
{
    struct server *server = connection->server;

    switch (connection->state) {
    case CONNECTION_READING:
        expire_reading(connection, now_mono_ns);
        break;
    case CONNECTION_WRITING:
        if (!expired(now_mono_ns, connection->progress_ns, server->limits.stall_ns) &&
            !expired(now_mono_ns, connection->since_ns, server->limits.answer_ns))
            break;
        server->health.limit_counts[HEALTH_LIMIT_ANSWER_TIME]++;
        connection_close(connection);
        break;
    case CONNECTION_STREAMING:
        stream_expire(connection, now_mono_ns);
        break;
    case CONNECTION_LINGERING:
        if (expired(now_mono_ns, connection->since_ns, server->limits.linger_ns))
            connection_close(connection);
        break;
    case CONNECTION_WAITING: /* see pending_expire() */
    case CONNECTION_CLOSED:
        break;
    }
}

void connections_expire(struct server *server, uint64_t now_mono_ns)
{
    struct connection *next;

    for (struct connection *connection = LIST_FIRST(&server->connections); connection != NULL; connection = next) {
        next = LIST_NEXT(connection, entry);
        expire(connection, now_mono_ns);
    }
}

/* Connections with lower ranks are dropped first. */
static int rank(const struct connection *connection)
{
    switch (connection->state) {
    case CONNECTION_WAITING:
    case CONNECTION_WRITING:
        return 1;
    case CONNECTION_STREAMING:
        return 2;
    default:
        return 0;
    }
}

bool connections_drop_one(struct server *server)
{
    struct connection *chosen = LIST_FIRST(&server->connections), *other;

    if (chosen == NULL)
        return false;
    LIST_FOREACH (other, &server->connections, entry)
        if (rank(other) < rank(chosen) || (rank(other) == rank(chosen) && other->since_ns < chosen->since_ns))
            chosen = other;
    server->health.limit_counts[HEALTH_LIMIT_CONNECTIONS]++;
    connection_close(chosen);
    return true;
}

void connections_drop_stalled(struct server *server)
{
    while (lists_bytes(server->lists) > server->limits.lists_bytes_max) {
        struct connection *chosen = NULL, *other;

        LIST_FOREACH (other, &server->connections, entry)
            if (other->state == CONNECTION_WRITING && (chosen == NULL || other->progress_ns < chosen->progress_ns))
                chosen = other;
        if (chosen == NULL)
            return;
        server->health.limit_counts[HEALTH_LIMIT_ANSWER_MEMORY]++;
        connection_close(chosen);
    }
}
