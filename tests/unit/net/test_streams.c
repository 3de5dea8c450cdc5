/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_streams.c - events as they happen: each once, in order, gaps reported. Clients that do not read, and the limits:
 * ripd/net/streams.c.
 */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"

#define STREAM(fields) "GET /events HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n" fields "\r\n"
#define LAST_EVENT(id) STREAM("Last-Event-ID: " id "\r\n")
/* The first block of a stream. With a position, if the client gave none. */
#define RETRY "retry: 3000\n\n"
#define RETRY_AT(sequence) "retry: 3000\nid: " EPOCH_TEXT "-" sequence "\n\n"
#define GAP(sequence, reason, from, to)                                                                                \
    "id: " EPOCH_TEXT "-" sequence "\nevent: gap\ndata: {\"reason\":\"" reason "\",\"epoch\":\"" EPOCH_TEXT            \
    "\",\"from\":" from ",\"to\":" to "}\n\n"

static void start(const struct http_limits *limits)
{
    publish(1, 0);
    world_start(limits);
}

static void expect_block(struct client *client, const char *expected)
{
    char *block = client_receive_until(client, "\n\n");

    assert_non_null(block);
    assert_string_equal(block, expected);
    free(block);
}

static void expect_events(struct client *client, uint64_t first, uint64_t last)
{
    for (uint64_t sequence = first; sequence <= last; sequence++) {
        char expected[256];

        snprintf(expected, sizeof(expected),
                 "id: " EPOCH_TEXT "-%llu\nevent: %s\ndata: {\"sequence\":%llu,\"fill\":\"\"}\n\n",
                 (unsigned long long)sequence, sequence % 2 == 1 ? "begin" : "end", (unsigned long long)sequence);
        expect_block(client, expected);
    }
}

static struct client open_stream_at(const char *address, const char *request)
{
    struct client client = client_open(address);

    client_send(&client, request);
    assert_true(client_receive_head(&client));
    assert_int_equal(reply.status, 200);
    assert_field("Content-Type", "text/event-stream");
    assert_field("Connection", "close");
    assert_field("Cache-Control", "no-store");
    assert_field("Vary", "Accept");
    assert_null(reply_field("Content-Length"));
    assert_null(reply_field("Transfer-Encoding"));
    return client;
}

static struct client open_stream(const char *request)
{
    return open_stream_at(world.address, request);
}

TEST(only_new_events, world_prepare, world_tear_down)
{
    struct client client;

    publish_events(1, 4, 0);
    start(NULL);
    client = open_stream(STREAM(""));
    expect_block(&client, RETRY_AT("4"));
    publish_events(5, 7, 0);
    expect_events(&client, 5, 7);
    client_close(&client);
}

TEST(before_the_first_event_and_scan, world_set_up, world_tear_down)
{
    struct client client = open_stream("GET /events HTTP/1.0\r\n" HOST "Accept: text/event-stream\r\n\r\n");

    expect_block(&client, RETRY_AT("0"));
    publish_events(1, 1, 0);
    expect_events(&client, 1, 1);
    client_close(&client);
}

/* A client that comes back gets the events after its last one, or a gap. */
TEST(resuming)
{
    static const struct {
        const char *request, *gap; /* NULL: no gap */
        uint64_t first, next;      /* the first event that is held; the first that the client gets */
    } cases[] = {
        {LAST_EVENT(EPOCH_TEXT "-2"), NULL, 1, 3},
        {LAST_EVENT(EPOCH_TEXT "-4"), NULL, 5, 5},
        {LAST_EVENT(EPOCH_TEXT "-2"), GAP("4", "forgotten", "3", "4"), 5, 5},
        {LAST_EVENT("0000000000000abd-2"), GAP("4", "other_history", "1", "4"), 5, 5},
        {LAST_EVENT("no such thing"), GAP("4", "other_history", "1", "4"), 5, 5},
        {LAST_EVENT("1-77"), GAP("0", "other_history", "null", "null"), 1, 1}, /* all of this history is held */
        {LAST_EVENT(EPOCH_TEXT "-8"), GAP("6", "ahead", "null", "null"), 5, 7},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct client client;

        world_prepare(NULL);
        publish_events(cases[i].first, 6, 0);
        start(NULL);
        client = open_stream(cases[i].request);
        expect_block(&client, RETRY);
        if (cases[i].gap != NULL)
            expect_block(&client, cases[i].gap);
        publish_events(7, 7, 0);
        expect_events(&client, cases[i].next, 7);
        publish_events(9, 9, 0); /* 8 was lost before it got here */
        expect_block(&client, GAP("8", "forgotten", "8", "8"));
        expect_events(&client, 9, 9);
        client_close(&client);
        world_close();
    }
}

/* The heartbeat gives a new position to a client whose filter matches no event. */
TEST(filters_and_heartbeats, world_prepare, world_tear_down)
{
    struct http_limits limits = http_default_limits;
    struct client client;

    limits.heartbeat_ns = 300 * MS_NS;
    limits.sweep_ns = 20 * MS_NS;
    start(&limits);
    client = open_stream("GET /events?kind=end&pid=4 HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n\r\n");
    expect_block(&client, RETRY_AT("0"));
    publish_events(1, 5, 0);
    expect_events(&client, 4, 4);
    expect_block(&client, ": alive\nid: " EPOCH_TEXT "-5\n\n");
    expect_block(&client, ": alive\n\n");
    client_close(&client);
}

static uint64_t stop_and_count_streams(void)
{
    struct health_http health;

    http_stop(world.http);
    http_health(world.http, &health);
    return health.stream_count;
}

TEST(negotiation, world_prepare, world_tear_down)
{
    struct client client;

    start(NULL);
    fetch("GET /events HTTP/1.1\r\n" HOST "Accept: application/json, text/event-stream\r\n\r\n");
    assert_field("Content-Type", "application/json");
    fetch("GET /events?limit=1 HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n\r\n");
    assert_problem(400);
    fetch("GET /events?after=1 HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n\r\n");
    assert_problem(400);
    client = connect_and_send("HEAD /events HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n\r\n");
    assert_true(client_receive_head(&client));
    assert_field("Content-Type", "text/event-stream");
    assert_field("Connection", "close");
    client_expect_close(&client);
    client_close(&client);
    assert_int_equal(stop_and_count_streams(), 0);
}

/* Requests behind the first one are not answered. When the client closes, its place is free. */
TEST(the_client_closes, world_prepare, world_tear_down)
{
    struct health_http health;
    struct client client;

    start(NULL);
    client = open_stream(STREAM("") GET("/healthz"));
    client_send(&client, GET("/healthz"));
    expect_block(&client, RETRY_AT("0"));
    publish_events(1, 1, 0);
    expect_events(&client, 1, 1);
    shutdown(client.descriptor, SHUT_WR);
    client_expect_close(&client);
    client_close(&client);
    assert_int_equal(stop_and_count_streams(), 0);
    http_health(world.http, &health);
    assert_int_equal(health.request_count, 1);
}

TEST(stopping_sends_what_was_published, world_prepare, world_tear_down)
{
    struct client client;

    start(NULL);
    client = open_stream(STREAM(""));
    expect_block(&client, RETRY_AT("0"));
    publish_events(1, 3, 0);
    http_stop(world.http);
    expect_events(&client, 1, 3);
    client_expect_close(&client);
    client_close(&client);
}

/* Other connections replace one another, but no stream. */
TEST(streams_are_not_counted_as_connections, world_prepare, world_tear_down)
{
    struct http_limits limits = http_default_limits;
    struct client streams[2], others[2];

    limits.streams_max = COUNT_OF(streams);
    limits.connections_max = COUNT_OF(others);
    start(&limits);
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        streams[i] = open_stream(STREAM(""));
        expect_block(&streams[i], RETRY_AT("0"));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        others[i] = connect_and_send(GET("/healthz"));
        client_expect(&others[i], 200);
    }
    for (int i = 0; i < 20; i++)
        assert_int_equal(get("/healthz"), 200);
    publish_events(1, 1, 0);
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        expect_events(&streams[i], 1, 1);
        client_close(&streams[i]);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++)
        client_close(&others[i]);
    assert_int_equal(world_stop_and_count(HEALTH_LIMIT_STREAMS), 0);
}

static struct client open_and_read(const char *address)
{
    struct client client = open_stream_at(address, STREAM(""));

    expect_block(&client, RETRY_AT("0"));
    return client;
}

/* One client cannot have all streams: a newer one ends the oldest of the user or address that has most. */
TEST(one_client_cannot_have_all_streams)
{
    enum { MOST = 8 };
    char directory[] = "/tmp/ripd-test-XXXXXX", listen_text[64];
    const char *addresses[] = {"127.0.0.1:0", listen_text};
    struct http_limits limits = http_default_limits;
    struct client inet[2 * MOST], user[MOST / 2 + 1];

    limits.streams_max = MOST;
    assert_non_null(mkdtemp(directory));
    snprintf(listen_text, sizeof(listen_text), "unix:%s/s", directory);
    world_new(&(struct http_options){.listen = addresses, .listen_count = 2});
    world_start(&limits);
    for (size_t i = 0; i < MOST; i++)
        inet[i] = open_and_read(world.address);
    for (size_t i = 0; i < MOST / 2; i++) { /* a user replaces the oldest of the address, up to a half of all */
        user[i] = open_and_read(listen_text);
        client_expect_close(&inet[i]);
    }
    for (size_t i = MOST; i < 2 * MOST; i++) { /* newer streams of the address end its own older ones */
        inet[i] = open_and_read(world.address);
        client_expect_close(&inet[i - MOST / 2]);
    }
    user[MOST / 2] = open_and_read(listen_text); /* as do those of the user */
    client_expect_close(&user[0]);
    publish_events(1, 1, 0);
    for (size_t i = 1; i < COUNT_OF(user); i++)
        expect_events(&user[i], 1, 1);
    for (size_t i = MOST + MOST / 2; i < 2 * MOST; i++)
        expect_events(&inet[i], 1, 1);
    assert_int_equal(world_stop_and_count(HEALTH_LIMIT_STREAMS), MOST / 2 + MOST + 1);
    world_close();
    for (size_t i = 0; i < COUNT_OF(inet); i++)
        client_close(&inet[i]);
    for (size_t i = 0; i < COUNT_OF(user); i++)
        client_close(&user[i]);
    assert_int_equal(rmdir(directory), 0);
}

static int count_streams(void)
{
    const char *found;

    get("/metrics");
    found = strstr(reply.body, "\nripd_http_streams ");
    assert_non_null(found);
    return atoi(strchr(found, ' '));
}

/* A client that never reads takes bounded memory and is dropped; a client that reads is not. */
TEST(a_client_that_never_reads, world_prepare, world_tear_down)
{
    const uint64_t last = 4000; /* the largest texts of which none is forgotten */
    const size_t text_bytes = EVENT_STORE_BYTES_MAX / last - sizeof(struct event) - 1;
    struct http_limits limits = http_default_limits;
    struct client deaf, good;

    limits.stall_ns = 3000 * MS_NS; /* long enough for the client that reads, on a busy machine */
    limits.sweep_ns = 20 * MS_NS;
    start(&limits);
    deaf = open_stream(STREAM(""));
    good = open_stream(STREAM(""));
    free(client_receive_until(&good, "\n\n"));
    for (uint64_t i = 1; i <= last; i++) { /* one by one, so that this client is never far behind */
        char *block;

        publish_events(i, i, text_bytes);
        block = client_receive_until(&good, "\n\n");
        assert_non_null(block);
        free(block);
    }
    for (int i = 0; i < 4500 && count_streams() != 1; i++)
        usleep(20000);
    assert_int_equal(world_stop_and_count(HEALTH_LIMIT_STREAM_MEMORY), 1);
    client_close(&deaf);
    client_close(&good);
}

/* A client that reads late loses no event that is held, and gets a gap for those that are not. */
TEST(a_client_that_reads_late, world_prepare, world_tear_down)
{
    uint64_t last = 2 * EVENT_STORE_BYTES_MAX / 2000;
    uint64_t expected = 1;
    struct client client;
    bool gap = false;

    start(NULL);
    client = open_stream(STREAM(""));
    free(client_receive_until(&client, "\n\n"));
    publish_events(1, last, 2000);
    assert_int_equal(get("/events?limit=1"), 200); /* the server has stored them */
    while (expected <= last) {
        char *block = client_receive_until(&client, "\n\n");
        unsigned long long place = 0;
        unsigned long long from = 0;

        assert_non_null(block);
        assert_int_equal(sscanf(block, "id: " EPOCH_TEXT "-%llu\n", &place), 1);
        if (strstr(block, "event: gap") != NULL) {
            assert_int_equal(sscanf(strstr(block, "\"from\":"), "\"from\":%llu", &from), 1);
            assert_int_equal(from, expected);
            gap = true;
        } else {
            assert_int_equal(place, expected);
        }
        expected = place + 1;
        free(block);
    }
    assert_true(gap);
    client_close(&client);
}
