/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.c - /events as they happen: server-sent events, as the HTML standard has them.
 *
 * A stream has a place in the sequence of events, and no queue: what it has room for is rendered from the store when
 * the client takes it. A client that reads slowly falls behind in the store, which costs nobody anything, and is told
 * what it missed when the store has moved on.
 *
 * Guarantees
 *   A. What follows the place at which a client was is sent, in order and once; what is not held any more, or was of
 *      another history, is a gap event that says so. Filters do not hide gaps.
 *   B. A client always knows its place: it is told at the beginning, with each event, and with the sign of life when
 *      only events that it does not want have gone by. So whoever comes back misses nothing, however quiet it was.
 *   C. One stream takes at most HTTP_STREAM_OUTPUT_BYTES_MAX and an event of memory, HTTP_STREAM_SOCKET_BYTES of its
 *      socket's, and looks at HTTP_STREAM_EVENTS_PER_TURN events before others have their turn.
 *
 * The answer has no length and ends with the connection, in HTTP/1.1 as in 1.0: the stream ends only when the daemon
 * or the client goes, the format itself tells a whole event from one cut short, and chunks would add bytes and say
 * nothing more.
 */
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "net/connection.h"
#include "net/routes.h"
#include "os/clock.h"

#define STREAM_TYPE "text/event-stream"
#define STREAM_FIELDS "Vary: Accept\r\nX-Accel-Buffering: no\r\n" /* a proxy in front must not wait for more */

struct stream {
    struct stream *next;
    struct stream *previous;
    struct connection *connection;
    struct query query;
    struct glob name;       /* of the query */
    uint64_t next_sequence; /* all before it have been dealt with */
    uint64_t told_sequence; /* the place that the client was told last */
    uint64_t written_ns;    /* when something was last put into the output */
    bool failed;            /* no memory: something may be cut short in the output */
};

enum gap_reason {
#define X(name, text, meaning) GAP_##name,
    STREAM_GAP_TABLE(X)
#undef X
};

static const char *const gap_reasons[] = {
#define X(name, text, meaning) text,
    STREAM_GAP_TABLE(X)
#undef X
};

__attribute__((format(printf, 2, 3))) static void put(struct stream *stream, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (evbuffer_add_vprintf(stream->connection->output, format, arguments) < 0)
        stream->failed = true;
    va_end(arguments);
}

static void tell_place(struct stream *stream, uint64_t sequence)
{
    char id[EVENT_ID_BYTES];

    event_id_format(stream->connection->http->epoch, sequence, id);
    put(stream, "id: %s\n", id);
    stream->told_sequence = sequence;
}

/* first and last: what is missing of this history; none if first is greater. */
static void write_gap(struct stream *stream, enum gap_reason reason, uint64_t first, uint64_t last)
{
    char epoch[EVENT_EPOCH_BYTES];

    event_epoch_format(stream->connection->http->epoch, epoch);
    tell_place(stream, stream->next_sequence - 1);
    put(stream, "event: gap\ndata: {\"reason\":\"%s\",\"epoch\":\"%s\",", gap_reasons[reason], epoch);
    if (first <= last)
        put(stream, "\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}\n\n", first, last);
    else
        put(stream, "\"from\":null,\"to\":null}\n\n");
}

static void write_event(struct stream *stream, const struct event *event)
{
    tell_place(stream, event->sequence);
    put(stream, "event: %s\ndata: ", event_kind_name(event->kind));
    if (evbuffer_add(stream->connection->output, event->text, event->text_bytes) < 0)
        stream->failed = true;
    put(stream, "\n\n");
}

/* Renders what there is room for. */
static void fill(struct stream *stream)
{
    const struct event_store *store = &stream->connection->http->events;
    struct evbuffer *output = stream->connection->output;
    size_t i = event_store_find(store, stream->next_sequence);
    size_t bytes_before = evbuffer_get_length(output);

    for (unsigned looked = 0; i < store->count && looked < HTTP_STREAM_EVENTS_PER_TURN; i++, looked++) {
        const struct event *event = event_store_at(store, i);
        uint64_t expected = stream->next_sequence;

        if (evbuffer_get_length(output) >= HTTP_STREAM_OUTPUT_BYTES_MAX)
            break;
        if (event->sequence > expected) {
            stream->next_sequence = event->sequence;
            write_gap(stream, GAP_FORGOTTEN, expected, event->sequence - 1);
        }
        if (query_matches_event(&stream->query, &stream->name, event))
            write_event(stream, event);
        stream->next_sequence = event->sequence + 1;
    }
    if (evbuffer_get_length(output) != bytes_before)
        stream->written_ns = clock_mono_ns();
}

void stream_turn(struct connection *connection)
{
    struct stream *stream = connection->stream;
    const struct http *http = connection->http;

    if (evbuffer_get_length(connection->output) == 0)
        connection->progress_ns = clock_mono_ns();
    fill(stream);
    if (stream->failed) {
        connection_close(connection);
        return;
    }
    if (!connection_send(connection))
        return;
    if (evbuffer_get_length(connection->output) != 0)
        event_add(connection->write_event, NULL);
    else if (stream->next_sequence <= http->events.newest_sequence)
        event_active(connection->write_event, EV_WRITE, 0); /* others first */
}

void streams_advance(struct http *http)
{
    for (struct stream *stream = http->streams; stream != NULL; stream = stream->next)
        if (evbuffer_get_length(stream->connection->output) == 0)
            event_active(stream->connection->write_event, EV_WRITE, 0);
}

/* At its place: after the last event that the client has, or else after the newest. */
static void begin(struct stream *stream, const struct last_event *last)
{
    const struct http *http = stream->connection->http;
    uint64_t newest = http->events.newest_sequence;
    uint64_t oldest = event_store_oldest(&http->events);

    put(stream, "retry: %u\n", HTTP_STREAM_RETRY_MS);
    stream->next_sequence = newest + 1;
    if (!last->given) {
        tell_place(stream, newest);
        put(stream, "\n");
        return;
    }
    put(stream, "\n");
    if (!last->known || last->epoch != http->epoch) {
        stream->next_sequence = oldest;
        write_gap(stream, GAP_OTHER_HISTORY, 1, oldest - 1);
    } else if (last->sequence > newest) {
        write_gap(stream, GAP_AHEAD, 1, 0);
    } else {
        stream->next_sequence = last->sequence + 1;
        stream->told_sequence = last->sequence;
    }
}

/* What the system keeps for a client that does not read, and for how long. Without effect on a Unix socket's time. */
static void bound_socket(const struct connection *connection)
{
    int bytes = HTTP_STREAM_SOCKET_BYTES;
    unsigned timeout_ms = (unsigned)(connection->http->limits.stall_ns / 1000000);

    (void)setsockopt(connection->descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    (void)setsockopt(connection->descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
}

static bool refuse(struct connection *connection, const struct query *query)
{
    struct http *http = connection->http;

    if (query->has_limit || query->after.present) {
        connection_problem(connection, 400, "A stream takes neither limit nor after: Last-Event-ID is its place.",
                           query->has_limit ? "limit" : "after", NULL);
        return true;
    }
    if (http->stream_count < http->limits.streams_max)
        return false;
    http->counters.stream_refused_count++;
    connection_problem(connection, 503, "There are too many event streams.", NULL, "Retry-After: 10\r\n");
    return true;
}

void stream_open(struct http *http, struct connection *connection, const struct query *query)
{
    const struct answer answer = {
        .status = 200, .content_type = STREAM_TYPE, .extra_fields = STREAM_FIELDS, .endless = true};
    struct stream *stream;

    if (refuse(connection, query))
        return;
    connection->keep_alive = false;
    if (connection->head_only) {
        connection_answer(connection, &answer);
        return;
    }
    stream = calloc(1, sizeof(*stream));
    if (stream == NULL || answer_write_head(connection, &answer) < 0) {
        free(stream);
        connection_close(connection);
        return;
    }
    stream->connection = connection;
    stream->query = *query;
    glob_make(&stream->name, query->name);
    stream->next = http->streams;
    if (http->streams != NULL)
        http->streams->previous = stream;
    http->streams = stream;
    http->stream_count++;
    connection->stream = stream;
    bound_socket(connection);
    connection_enter_state(connection, CONNECTION_STREAMING);
    begin(stream, &connection->wishes.last_event);
    stream->written_ns = connection->since_ns;
    stream_turn(connection);
}

void stream_leave(struct connection *connection)
{
    struct stream *stream = connection->stream;

    if (stream == NULL)
        return;
    if (stream->previous != NULL)
        stream->previous->next = stream->next;
    else
        connection->http->streams = stream->next;
    if (stream->next != NULL)
        stream->next->previous = stream->previous;
    connection->http->stream_count--;
    connection->stream = NULL;
    free(stream);
}

void stream_expire(struct connection *connection, uint64_t now_mono_ns)
{
    struct http *http = connection->http;
    struct stream *stream = connection->stream;

    if (evbuffer_get_length(connection->output) != 0) {
        if (now_mono_ns < connection->progress_ns + http->limits.stall_ns)
            return;
        http->counters.stream_dropped_count++;
        connection_close(connection);
    } else if (now_mono_ns >= stream->written_ns + http->limits.heartbeat_ns) {
        put(stream, ": alive\n");
        if (stream->told_sequence != stream->next_sequence - 1)
            tell_place(stream, stream->next_sequence - 1);
        put(stream, "\n");
        stream->written_ns = now_mono_ns;
        stream_turn(connection);
    }
}

void streams_end(struct http *http)
{
    while (http->streams != NULL) {
        struct connection *connection = http->streams->connection;

        connection_enter(connection);
        fill(connection->stream);
        stream_leave(connection);
        connection_finish(connection);
        connection_leave(connection);
    }
}
