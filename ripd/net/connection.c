/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connection.c - the life of one client.
 *
 *      +--> READING --> (WAITING) --> WRITING --+--> LINGERING --> closed
 *      +----------------------------------------+
 *
 * The read event is on while there is something to read for (READING, LINGERING) and off while an answer cannot be
 * sent at once; so a client that asks without listening is stopped by its own socket's buffer. A client that goes
 * while it waits is found out when its answer is sent: that is at most http_limits.wait_ns later.
 */
#include "net/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/clock.h"

#define INPUT_BYTES_FIRST 2048u
#define COPIED_BODY_BYTES_MAX 4096u /* shorter bodies are copied: cheaper than a reference */

static void on_readable(evutil_socket_t descriptor, short what, void *argument);
static void on_writable(evutil_socket_t descriptor, short what, void *argument);

void connection_enter_state(struct connection *connection, enum connection_state state)
{
    connection->state = state;
    connection->since_ns = clock_mono_ns();
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

int connection_open(struct http *http, const struct door *door, int descriptor)
{
    struct connection *connection = calloc(1, sizeof(*connection));

    if (connection == NULL) {
        close(descriptor);
        return -ENOMEM;
    }
    connection->http = http;
    connection->door = door;
    connection->descriptor = descriptor;
    connection->keep_alive = true;
    connection->minor_version = 1;
    connection->output = evbuffer_new();
    connection->read_event = event_new(http->base, descriptor, EV_READ | EV_PERSIST, on_readable, connection);
    connection->write_event = event_new(http->base, descriptor, EV_WRITE, on_writable, connection);
    if (connection->output == NULL || connection->read_event == NULL || connection->write_event == NULL ||
        event_add(connection->read_event, NULL) < 0) {
        release(connection);
        return -ENOMEM;
    }
    connection_enter_state(connection, CONNECTION_READING);
    connection->next = http->connections;
    if (http->connections != NULL)
        http->connections->previous = connection;
    http->connections = connection;
    http->connection_count++;
    return 0;
}

void connection_close(struct connection *connection)
{
    struct http *http = connection->http;

    if (connection->state == CONNECTION_CLOSED)
        return;
    asking_leave(http, connection);
    stream_leave(connection);
    connection->state = CONNECTION_CLOSED;
    if (connection->previous != NULL)
        connection->previous->next = connection->next;
    else
        http->connections = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    http->connection_count--;
    if (http->stopping && http->connection_count == 0)
        event_base_loopbreak(http->base);
    if (!connection->entered)
        release(connection);
}

void connection_enter(struct connection *connection)
{
    connection->entered = true;
}

static void leave(struct connection *connection)
{
    connection->entered = false;
    if (connection->state == CONNECTION_CLOSED)
        release(connection);
}

/* The last byte of an answer is on its way. */
static void answer_done(struct connection *connection)
{
    if (connection->keep_alive && !connection->http->stopping) {
        connection_enter_state(connection, CONNECTION_READING);
        connection->request_since_ns = connection->input_bytes != 0 ? connection->since_ns : 0;
    } else {
        shutdown(connection->descriptor, SHUT_WR);
        connection->input_bytes = 0;
        connection_enter_state(connection, CONNECTION_LINGERING);
    }
    if (connection->http->stopping || event_add(connection->read_event, NULL) < 0)
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

/* Sends what the client takes; the rest when it takes more. */
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

static void release_body(const void *data, size_t length, void *argument)
{
    (void)data;
    (void)length;
    body_unref(argument);
}

static int add_body(struct connection *connection, struct body *body)
{
    for (size_t i = 0; i < body->piece_count; i++) {
        const char *text = body->pieces[i].text;
        size_t length = body->pieces[i].length;

        if (length <= COPIED_BODY_BYTES_MAX) {
            if (evbuffer_add(connection->output, text, length) < 0)
                return -1;
        } else if (evbuffer_add_reference(connection->output, text, length, release_body, body_ref(body)) < 0) {
            body_unref(body);
            return -1;
        }
    }
    return 0;
}

void connection_answer(struct connection *connection, const struct answer *answer)
{
    int status = -1;

    if (connection->state != CONNECTION_CLOSED) {
        connection_enter_state(connection, CONNECTION_WRITING);
        connection->progress_ns = connection->since_ns;
        status = answer_write_head(connection, answer);
        if (status == 0 && !connection->head_only && answer->text != NULL)
            status = evbuffer_add(connection->output, answer->text, answer->text_bytes);
        if (status == 0 && !connection->head_only && answer->body != NULL)
            status = add_body(connection, answer->body);
        if (status == 0)
            send_output(connection);
        else
            connection_close(connection); /* no memory, and part of an answer in the buffer */
    }
    free(answer->text);
}

void connection_finish(struct connection *connection)
{
    connection_enter_state(connection, CONNECTION_WRITING);
    connection->progress_ns = connection->since_ns;
    send_output(connection);
}

void connection_not_modified(struct connection *connection, const struct etag *tag, const char *extra_fields)
{
    const struct answer answer = {.status = 304, .extra_fields = extra_fields, .tag = tag};

    connection->http->counters.not_modified_count++;
    connection_answer(connection, &answer);
}

void connection_problem(struct connection *connection, int status, const char *detail, const char *parameter,
                        const char *extra_fields)
{
    struct answer answer = {
        .status = status,
        .content_type = "application/problem+json",
        .extra_fields = extra_fields,
    };

    if (document_problem(status, answer_phrase(status), detail, parameter, &answer.text, &answer.text_bytes) < 0) {
        connection_close(connection);
        return;
    }
    connection_answer(connection, &answer);
}

void connection_wait(struct connection *connection)
{
    connection_enter_state(connection, CONNECTION_WAITING);
    event_del(connection->read_event);
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

/* Reads past a body, and past an empty line before a request, which some clients send after a body. */
static void skip(struct connection *connection)
{
    if (connection->skip_bytes != 0 && connection->input_bytes != 0) {
        size_t bytes =
            connection->input_bytes < connection->skip_bytes ? connection->input_bytes : (size_t)connection->skip_bytes;

        consume(connection, bytes);
        connection->skip_bytes -= bytes;
    }
    while (connection->input_bytes >= 2 && memcmp(connection->input, "\r\n", 2) == 0)
        consume(connection, 2);
}

static void take_request(struct connection *connection, const struct http_request *request, size_t head_bytes)
{
    struct http *http = connection->http;
    bool has_body = request->body_bytes != 0 || request->has_coding;

    connection->head_only = request->method == REQUEST_HEAD;
    connection->minor_version = request->minor_version;
    connection->skip_bytes = request->body_bytes;
    wishes_read(request, http->instance, &connection->wishes);
    connection->keep_alive = request->keep_alive && !request->has_coding &&
                             request->body_bytes <= REQUEST_BODY_BYTES_MAX &&
                             !(has_body && request->fields[FIELD_EXPECT].count != 0);
    server_request(http, connection, request);
    if (connection->state != CONNECTION_CLOSED && connection->state != CONNECTION_LINGERING)
        consume(connection, head_bytes);
}

/* One step of reading. False: nothing more can be done now. */
static bool read_request(struct connection *connection)
{
    enum request_outcome outcome;
    struct http_request request;
    struct request_fault fault;
    size_t head_bytes;

    skip(connection);
    outcome = request_parse(connection->input, connection->input_bytes, connection->scanned_bytes, &request,
                            &head_bytes, &fault);
    if (outcome == REQUEST_INCOMPLETE) {
        connection->scanned_bytes = connection->input_bytes;
        return false;
    }
    if (outcome == REQUEST_BAD) {
        connection->http->counters.request_count++;
        connection->keep_alive = false;
        connection->head_only = false;
        connection->minor_version = 1;
        connection_problem(connection, fault.status, fault.detail, NULL, NULL);
        return false;
    }
    take_request(connection, &request, head_bytes);
    return connection->state == CONNECTION_READING;
}

/* Answers what lies in the input. */
static void work_input(struct connection *connection)
{
    for (unsigned i = 0; connection->state == CONNECTION_READING; i++) {
        if (i == HTTP_REQUESTS_PER_TURN) {
            event_active(connection->read_event, EV_READ, 0); /* others first */
            return;
        }
        if (!read_request(connection))
            break;
    }
    if (connection->ended && connection->state == CONNECTION_READING)
        connection_close(connection); /* what is left is no request, and will not become one */
}

void connection_leave(struct connection *connection)
{
    work_input(connection);
    leave(connection);
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

/* Reads once. False: the connection is closed. */
static bool read_input(struct connection *connection)
{
    size_t room;
    ssize_t count;

    if (make_room(connection) < 0) {
        connection_close(connection);
        return false;
    }
    room = connection->input_capacity - connection->input_bytes;
    if (room == 0)
        return true; /* more requests than one turn took lie there */
    count = read(connection->descriptor, connection->input + connection->input_bytes, room);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (count < 0) {
        connection_close(connection);
        return false;
    }
    if (count == 0) {
        connection->ended = true;
        return true;
    }
    if (connection->input_bytes == 0)
        connection->request_since_ns = clock_mono_ns();
    connection->input_bytes += (size_t)count;
    return true;
}

/* Nothing more is expected of the client but that it goes. */
static void read_past(struct connection *connection)
{
    if (!read_input(connection))
        return;
    connection->input_bytes = 0;
    if (connection->ended)
        connection_close(connection);
}

static void on_readable(evutil_socket_t descriptor, short what, void *argument)
{
    struct connection *connection = argument;

    (void)descriptor;
    (void)what;
    connection_enter(connection);
    if (connection->state == CONNECTION_READING && read_input(connection))
        work_input(connection);
    else if (connection->state == CONNECTION_LINGERING || connection->state == CONNECTION_STREAMING)
        read_past(connection);
    leave(connection);
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
    struct http *http = connection->http;

    if (connection->request_since_ns != 0 && connection->skip_bytes == 0) {
        if (!expired(now_mono_ns, connection->request_since_ns, http->limits.request_ns))
            return;
        http->counters.request_timeout_count++;
        connection->keep_alive = false;
        connection->head_only = false;
        connection_problem(connection, 408, "The request's head did not come in time.", NULL, NULL);
    } else if (expired(now_mono_ns, connection->since_ns, http->limits.idle_ns)) {
        http->counters.idle_closed_count++;
        connection_close(connection);
    }
}

void connection_expire(struct connection *connection, uint64_t now_mono_ns)
{
    struct http *http = connection->http;

    connection_enter(connection);
    switch (connection->state) {
    case CONNECTION_READING:
        expire_reading(connection, now_mono_ns);
        break;
    case CONNECTION_WRITING:
        if (!expired(now_mono_ns, connection->progress_ns, http->limits.stall_ns) &&
            !expired(now_mono_ns, connection->since_ns, http->limits.answer_ns))
            break;
        http->counters.answer_timeout_count++;
        connection_close(connection);
        break;
    case CONNECTION_STREAMING:
        stream_expire(connection, now_mono_ns);
        break;
    case CONNECTION_LINGERING:
        if (expired(now_mono_ns, connection->since_ns, http->limits.linger_ns))
            connection_close(connection);
        break;
    case CONNECTION_WAITING: /* askings_expire() */
    case CONNECTION_CLOSED:
        break;
    }
    leave(connection);
}
