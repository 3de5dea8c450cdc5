/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.c - each stream has a position in the sequence of events, and no queue. Events are rendered from the store
 * when the socket accepts them. A client that reads slowly falls behind in the store, at no cost to others. It gets a
 * gap event if the store has dropped what it missed.
 *
 * The answer has no length and ends with the connection, in HTTP/1.1 as in 1.0. A stream ends only when the daemon or
 * the client ends, and the format itself shows whether an event is complete. Chunked coding would add bytes without
 * information.
 */
#include "net/streams.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "os/clock.h"

#define STREAM_TYPE "text/event-stream"
#define STREAM_FIELDS "Vary: Accept\r\nX-Accel-Buffering: no\r\n" /* a proxy must not buffer the stream */

/* The client of a stream. All bytes are compared. */
struct peer {
    bool is_user;
    uint32_t uid;
    struct in6_addr address; /* IPv4 as mapped */
};

struct stream {
    LIST_ENTRY(stream) entry; /* in server->streams */
    struct connection *connection;
    struct peer peer;
    struct query query;
    struct query_filter filter; /* made from query */
    uint64_t next_sequence;     /* all events before it have been sent or filtered out */
    uint64_t shown_sequence;    /* position that the client got last */
    uint64_t written_ns;        /* when something was last put into the output */
    bool failed;                /* out of memory: the output may be incomplete */
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

static void put_place(struct stream *stream, uint64_t sequence)
{
    char id[EVENT_ID_BYTES];

    event_id_format(stream->connection->server->epoch, sequence, id);
    put(stream, "id: %s\n", id);
    stream->shown_sequence = sequence;
}

/* first and last are the missing events of this history; none if first is greater. */
static void put_gap(struct stream *stream, enum gap_reason reason, uint64_t first, uint64_t last)
{
    char epoch[EVENT_EPOCH_BYTES];

    event_epoch_format(stream->connection->server->epoch, epoch);
    put_place(stream, stream->next_sequence - 1);
    put(stream, "event: gap\ndata: {\"reason\":\"%s\",\"epoch\":\"%s\",", gap_reasons[reason], epoch);
    if (first <= last)
        put(stream, "\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}\n\n", first, last);
    else
        put(stream, "\"from\":null,\"to\":null}\n\n");
}

static void put_event(struct stream *stream, const struct event *event)
{
    put_place(stream, event->sequence);
    put(stream, "event: %s\ndata: ", event_kind_name(event->kind));
    if (evbuffer_add(stream->connection->output, event->text, event->text_bytes) < 0)
        stream->failed = true;
    put(stream, "\n\n");
}

/* Renders events as far as there is room. */
static void fill(struct stream *stream)
{
    const struct event_store *store = &stream->connection->server->events;
    struct evbuffer *output = stream->connection->output;
    size_t i = event_store_find(store, stream->next_sequence);
    size_t bytes_before = evbuffer_get_length(output);

    for (unsigned matched = 0; i < store->count && matched < HTTP_STREAM_EVENTS_PER_TURN; i++, matched++) {
        const struct event *event = event_store_at(store, i);
        uint64_t expected = stream->next_sequence;

        if (evbuffer_get_length(output) >= HTTP_STREAM_OUTPUT_BYTES_MAX)
            break;
        if (event->sequence > expected) {
            stream->next_sequence = event->sequence;
            put_gap(stream, GAP_FORGOTTEN, expected, event->sequence - 1);
        }
        if (query_matches_event(&stream->filter, event))
            put_event(stream, event);
        stream->next_sequence = event->sequence + 1;
    }
    if (evbuffer_get_length(output) != bytes_before)
        stream->written_ns = clock_mono_ns();
}

void stream_turn(struct connection *connection)
{
    struct stream *stream = connection->stream;

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
    else if (stream->next_sequence <= connection->server->events.newest_sequence)
        event_active(connection->write_event, EV_WRITE, 0); /* other clients first */
}

void streams_advance(struct server *server)
{
    struct stream *stream;

    LIST_FOREACH (stream, &server->streams, entry)
        if (evbuffer_get_length(stream->connection->output) == 0)
            event_active(stream->connection->write_event, EV_WRITE, 0);
}

/* Sets the position: after the last event that the client has, otherwise after the newest. */
static void begin(struct stream *stream, const struct last_event *last)
{
    const struct server *server = stream->connection->server;
    uint64_t newest = server->events.newest_sequence;
    uint64_t oldest = event_store_oldest(&server->events);

    put(stream, "retry: %u\n", HTTP_STREAM_RETRY_MS);
    stream->next_sequence = newest + 1;
    if (!last->given)
        put_place(stream, newest);
    put(stream, "\n");
    if (!last->given)
        return;
    if (!last->known || last->epoch != server->epoch) {
        stream->next_sequence = oldest;
        put_gap(stream, GAP_OTHER_HISTORY, 1, oldest - 1);
    } else if (last->sequence > newest) {
        put_gap(stream, GAP_AHEAD, 1, 0);
    } else {
        stream->next_sequence = last->sequence + 1;
        stream->shown_sequence = last->sequence;
    }
}

/*
 * Bounds the kernel's buffer for a client that does not read, and how long it is kept. The timeout is longer than the
 * server's, so that a client for which more output waits here is dropped and counted by stream_expire(). A Unix socket
 * has no such timeout.
 */
static void bound_socket(const struct connection *connection)
{
    int bytes = HTTP_STREAM_SOCKET_BYTES;
    unsigned timeout_ms = (unsigned)(2 * connection->server->limits.stall_ns / 1000000);

    (void)setsockopt(connection->descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    (void)setsockopt(connection->descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
}

static void peer_of(int descriptor, struct peer *ret_peer)
{
    struct sockaddr_in6 address = {0};
    struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
    struct ucred credentials;
    socklen_t length = sizeof(address), credentials_bytes = sizeof(credentials);

    memset(ret_peer, 0, sizeof(*ret_peer));
    if (getpeername(descriptor, (struct sockaddr *)&address, &length) < 0)
        return; /* it has gone already */
    if (address.sin6_family == AF_UNIX) {
        ret_peer->is_user = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &credentials_bytes) == 0;
        ret_peer->uid = ret_peer->is_user ? credentials.uid : 0;
        return;
    }
    if (address.sin6_family == AF_INET)
        memcpy(&mapped.s6_addr[12], &((const struct sockaddr_in *)(const void *)&address)->sin_addr, 4);
    else
        mapped = address.sin6_addr;
    ret_peer->address =
        IN6_IS_ADDR_V4MAPPED(&mapped) && mapped.s6_addr[12] == 127 ? (struct in6_addr)IN6ADDR_LOOPBACK_INIT : mapped;
}

static bool same_peer(const struct peer *left, const struct peer *right)
{
    return memcmp(left, right, sizeof(*left)) == 0;
}

/*
 * Returns the stream that a new one of this peer replaces: the oldest of the peer with most streams, including the new
 * one.
 */
static struct stream *stream_to_end(const struct server *server, const struct peer *added)
{
    struct stream *chosen = NULL, *stream, *other;
    size_t most = 0;

    LIST_FOREACH (stream, &server->streams, entry) {
        size_t count = same_peer(&stream->peer, added);

        LIST_FOREACH (other, &server->streams, entry)
            count += same_peer(&other->peer, &stream->peer);
        if (count >= most) {
            chosen = stream;
            most = count;
        }
    }
    return chosen;
}

static void enlist(struct server *server, struct stream *stream)
{
    peer_of(stream->connection->descriptor, &stream->peer);
    if (server->stream_count >= server->limits.streams_max) {
        connection_close(stream_to_end(server, &stream->peer)->connection);
        server->health.limit_counts[HEALTH_LIMIT_STREAMS]++;
    }
    LIST_INSERT_HEAD(&server->streams, stream, entry);
    server->stream_count++;
    stream->connection->stream = stream;
}

void stream_open(struct connection *connection, const struct query *query)
{
    const struct answer answer = {
        .status = 200, .content_type = STREAM_TYPE, .extra_fields = STREAM_FIELDS, .endless = true};
    struct last_event last = last_event_parse(&connection->request.fields[FIELD_LAST_EVENT_ID]);
    struct stream *stream;

    if (query->has_limit || query->after.present) {
        connection_problem(connection, 400, "A stream accepts neither limit nor after: use Last-Event-ID.",
                           query->has_limit ? "limit" : "after", NULL);
        return;
    }
    connection->keep_alive = false;
    if (connection->request.method == REQUEST_HEAD) {
        connection_answer(connection, &answer);
        return;
    }
    stream = calloc(1, sizeof(*stream));
    if (stream == NULL || connection_start_stream(connection, &answer) < 0) {
        free(stream);
        connection_close(connection);
        return;
    }
    stream->connection = connection;
    stream->query = query_at(query, clock_wall_ns());
    query_filter_make(&stream->filter, &stream->query);
    enlist(connection->server, stream);
    bound_socket(connection);
    begin(stream, &last);
    stream->written_ns = connection->since_ns;
    stream_turn(connection);
}

void stream_leave(struct connection *connection)
{
    struct stream *stream = connection->stream;

    if (stream == NULL)
        return;
    LIST_REMOVE(stream, entry);
    connection->server->stream_count--;
    connection->stream = NULL;
    free(stream);
}

void stream_expire(struct connection *connection, uint64_t now_mono_ns)
{
    struct server *server = connection->server;
    struct stream *stream = connection->stream;

    if (evbuffer_get_length(connection->output) != 0) {
        if (now_mono_ns < connection->progress_ns + server->limits.stall_ns)
            return;
        server->health.limit_counts[HEALTH_LIMIT_STREAM_MEMORY]++;
        connection_close(connection);
    } else if (now_mono_ns >= stream->written_ns + server->limits.heartbeat_ns) {
        put(stream, ": alive\n");
        if (stream->shown_sequence != stream->next_sequence - 1)
            put_place(stream, stream->next_sequence - 1);
        put(stream, "\n");
        stream->written_ns = now_mono_ns;
        stream_turn(connection);
    }
}

void streams_end(struct server *server)
{
    while (!LIST_EMPTY(&server->streams)) {
        struct connection *connection = LIST_FIRST(&server->streams)->connection;

        connection_enter(connection);
        fill(connection->stream);
        stream_leave(connection);
        connection_finish(connection);
        connection_leave(connection);
    }
}
