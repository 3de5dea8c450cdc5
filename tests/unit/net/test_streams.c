/* SPDX-License-Identifier: Apache-2.0 */
/* test_streams.c - events as they happen: each once, in order, gaps reported; clients that do not read; the limits. */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"
#include "unit/sample_event.h"

#define EPOCH UINT64_C(0xabc)
#define EPOCH_TEXT "0000000000000abc"
#define STREAM_REQUEST(fields) "GET /events HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n" fields "\r\n"
#define MS_NS UINT64_C(1000000)

static void make(struct world *world)
{
    world_make(world, "127.0.0.1:0");
    http_set_epoch(world->http, EPOCH);
}

static void start(struct world *world)
{
    publish(world, 1, 0);
    assert_int_equal(http_start(world->http), 0);
}

static void happen(struct world *world, uint64_t first, uint64_t last, size_t text_bytes)
{
    for (uint64_t i = first; i <= last; i++) {
        struct event *event = sample_event(i, text_bytes);

        http_publish_event(world->http, event);
        event_unref(event);
    }
}

/* The next block, up to and with its empty line; the caller frees it. NULL: the server closed. */
static char *next_block(struct client *client)
{
    const char *end;
    char *block;

    while (client->count == 0 || (end = strstr(client->bytes, "\n\n")) == NULL)
        if (client_fill(client) == 0)
            return NULL;
    block = strndup(client->bytes, (size_t)(end - client->bytes) + 2);
    client_drop(client, strlen(block));
    return block;
}

static void expect_block(struct client *client, const char *expected)
{
    char *block = next_block(client);

    assert_non_null(block);
    assert_string_equal(block, expected);
    free(block);
}

static void expect_event(struct client *client, uint64_t sequence)
{
    char expected[256];

    snprintf(expected, sizeof(expected),
             "id: " EPOCH_TEXT "-%llu\nevent: %s\ndata: {\"sequence\":%llu,\"fill\":\"\"}\n\n",
             (unsigned long long)sequence, sequence % 2 == 1 ? "begin" : "end", (unsigned long long)sequence);
    expect_block(client, expected);
}

static void open_stream(struct world *world, const char *request, struct client *ret_client)
{
    struct reply reply;

    client_open(ret_client, world->address);
    client_send(ret_client, request);
    assert_true(client_receive_head(ret_client, &reply));
    assert_int_equal(reply.status, 200);
    assert_true(reply_has(&reply, "Content-Type", "text/event-stream"));
    assert_true(reply_has(&reply, "Connection", "close"));
    assert_true(reply_has(&reply, "Cache-Control", "no-store"));
    assert_true(reply_has(&reply, "Vary", "Accept"));
    assert_null(reply_field(&reply, "Content-Length"));
    assert_null(reply_field(&reply, "Transfer-Encoding"));
}

TEST(only_what_is_new)
{
    struct client client;
    struct world world;

    make(&world);
    happen(&world, 1, 4, 0);
    start(&world);
    open_stream(&world, STREAM_REQUEST(""), &client);
    expect_block(&client, "retry: 3000\nid: " EPOCH_TEXT "-4\n\n"); /* its place, should it go and come back */
    happen(&world, 5, 7, 0);
    for (uint64_t i = 5; i <= 7; i++)
        expect_event(&client, i);
    client_close(&client);
    world_close(&world);
}

TEST(before_the_first_event_and_scan)
{
    struct client client;
    struct world world;

    make(&world);
    assert_int_equal(http_start(world.http), 0);
    open_stream(&world, "GET /events HTTP/1.0\r\n" HOST "Accept: text/event-stream\r\n\r\n", &client);
    expect_block(&client, "retry: 3000\nid: " EPOCH_TEXT "-0\n\n");
    happen(&world, 1, 1, 0);
    expect_event(&client, 1);
    client_close(&client);
    world_close(&world);
}

TEST(resuming)
{
    struct client client;
    struct world world;

    make(&world);
    happen(&world, 1, 4, 0);
    start(&world);
    open_stream(&world, STREAM_REQUEST("Last-Event-ID: " EPOCH_TEXT "-2\r\n"), &client);
    expect_block(&client, "retry: 3000\n\n");
    expect_event(&client, 3);
    expect_event(&client, 4);
    happen(&world, 5, 5, 0);
    expect_event(&client, 5);
    client_close(&client);
    world_close(&world);
}

#define GAP(place, reason, from, to)                                                                                   \
    "id: " EPOCH_TEXT "-" place "\nevent: gap\ndata: {\"reason\":\"" reason "\",\"epoch\":\"" EPOCH_TEXT               \
    "\",\"from\":" from ",\"to\":" to "}\n\n"

TEST(gaps)
{
    static const struct {
        const char *request;
        const char *gap;
        uint64_t next;
    } rows[] = {
        {STREAM_REQUEST("Last-Event-ID: " EPOCH_TEXT "-2\r\n"), GAP("4", "forgotten", "3", "4"), 5},
        {STREAM_REQUEST("Last-Event-ID: " EPOCH_TEXT "-4\r\n"), NULL, 5},
        {STREAM_REQUEST("Last-Event-ID: 0000000000000abd-2\r\n"), GAP("4", "other_history", "1", "4"), 5},
        {STREAM_REQUEST("Last-Event-ID: no such thing\r\n"), GAP("4", "other_history", "1", "4"), 5},
        {STREAM_REQUEST("Last-Event-ID: " EPOCH_TEXT "-8\r\n"), GAP("6", "ahead", "null", "null"), 7},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct client client;
        struct world world;

        make(&world);
        happen(&world, 5, 6, 0); /* 1 to 4 were before the history that was loaded */
        start(&world);
        open_stream(&world, rows[i].request, &client);
        expect_block(&client, "retry: 3000\n\n");
        if (rows[i].gap != NULL)
            expect_block(&client, rows[i].gap);
        happen(&world, 7, 7, 0);
        for (uint64_t sequence = rows[i].next; sequence <= 7; sequence++)
            expect_event(&client, sequence);
        happen(&world, 9, 9, 0); /* 8 was lost on the way */
        expect_block(&client, GAP("8", "forgotten", "8", "8"));
        expect_event(&client, 9);
        client_close(&client);
        world_close(&world);
    }
}

/* Nothing is missing of a new history that is held from its first event on; only the other one is another. */
TEST(another_history_whole)
{
    struct client client;
    struct world world;

    make(&world);
    happen(&world, 1, 1, 0);
    start(&world);
    open_stream(&world, STREAM_REQUEST("Last-Event-ID: 1-77\r\n"), &client);
    expect_block(&client, "retry: 3000\n\n");
    expect_block(&client, GAP("0", "other_history", "null", "null"));
    expect_event(&client, 1);
    client_close(&client);
    world_close(&world);
}

/* The sign of life has the position of a client whose filter let nothing through. */
TEST(filters_and_signs_of_life)
{
    struct http_limits limits;
    struct client client;
    struct world world;

    make(&world);
    limits = http_default_limits;
    limits.heartbeat_ns = 300 * MS_NS;
    limits.sweep_ns = 20 * MS_NS;
    http_set_limits(world.http, &limits);
    start(&world);
    open_stream(&world, "GET /events?kind=end&pid=4 HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n\r\n", &client);
    expect_block(&client, "retry: 3000\nid: " EPOCH_TEXT "-0\n\n");
    happen(&world, 1, 5, 0);
    expect_event(&client, 4);
    expect_block(&client, ": alive\nid: " EPOCH_TEXT "-5\n\n");
    expect_block(&client, ": alive\n\n");
    client_close(&client);
    world_close(&world);
}

TEST(negotiation)
{
    struct health_http health;
    struct client client;
    struct reply reply;
    struct world world;

    make(&world);
    start(&world);
    client_ask(world.address, "GET /events HTTP/1.1\r\n" HOST "Accept: application/json, text/event-stream\r\n\r\n",
               &reply);
    assert_true(reply_has(&reply, "Content-Type", "application/json"));
    free(reply.body);
    client_ask(world.address, "GET /events?limit=1 HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n\r\n", &reply);
    assert_problem(&reply, 400);
    free(reply.body);
    client_ask(world.address, "GET /events?after=1 HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n\r\n", &reply);
    assert_problem(&reply, 400);
    free(reply.body);
    client_open(&client, world.address);
    client_send(&client, "HEAD /events HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n\r\n");
    assert_true(client_receive_head(&client, &reply));
    assert_true(reply_has(&reply, "Content-Type", "text/event-stream"));
    assert_true(reply_has(&reply, "Connection", "close"));
    client_expect_close(&client);
    client_close(&client);
    http_stop(world.http);
    http_health(world.http, &health);
    assert_int_equal(health.stream_count, 0);
    world_close(&world);
}

/* What the client sends behind its request is not answered; when it goes, its place is free. */
TEST(the_client_goes)
{
    struct health_http health;
    struct client client;
    struct world world;

    make(&world);
    start(&world);
    open_stream(&world, STREAM_REQUEST("") GET("/healthz"), &client);
    client_send(&client, GET("/healthz"));
    expect_block(&client, "retry: 3000\nid: " EPOCH_TEXT "-0\n\n");
    happen(&world, 1, 1, 0);
    expect_event(&client, 1);
    shutdown(client.descriptor, SHUT_WR);
    client_expect_close(&client);
    client_close(&client);
    http_stop(world.http);
    http_health(world.http, &health);
    assert_int_equal(health.stream_count, 0);
    assert_int_equal(health.request_count, 1);
    world_close(&world);
}

TEST(stopping)
{
    struct client client;
    struct world world;

    make(&world);
    start(&world);
    open_stream(&world, STREAM_REQUEST(""), &client);
    expect_block(&client, "retry: 3000\nid: " EPOCH_TEXT "-0\n\n");
    happen(&world, 1, 3, 0);
    http_stop(world.http); /* what happened before is sent */
    for (uint64_t i = 1; i <= 3; i++)
        expect_event(&client, i);
    client_expect_close(&client);
    client_close(&client);
    world_close(&world);
}

TEST(streams_are_counted_apart)
{
    struct client streams[2];
    struct client others[2];
    struct http_limits limits;
    struct reply reply;
    struct world world;

    make(&world);
    limits = http_default_limits;
    limits.streams_max = 2;
    limits.connections_max = 2;
    http_set_limits(world.http, &limits);
    start(&world);
    for (size_t i = 0; i < 2; i++) {
        open_stream(&world, STREAM_REQUEST(""), &streams[i]);
        expect_block(&streams[i], "retry: 3000\nid: " EPOCH_TEXT "-0\n\n");
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) { /* ordinary ones have all their places */
        client_open(&others[i], world.address);
        client_send(&others[i], GET("/healthz"));
        client_receive(&others[i], &reply);
        free(reply.body);
    }
    for (int i = 0; i < 20; i++) /* and push out one another, no stream */
        assert_int_equal(ask(&world, GET("/healthz")), 200);
    happen(&world, 1, 1, 0);
    for (size_t i = 0; i < 2; i++) {
        expect_event(&streams[i], 1);
        client_close(&streams[i]);
    }
    for (size_t i = 0; i < COUNT_OF(others); i++)
        client_close(&others[i]);
    http_stop(world.http);
    assert_int_equal(hits_of(&world, HEALTH_LIMIT_STREAMS), 0);
    world_close(&world);
}

static void open_and_read(struct world *world, const char *address, struct client *ret_client)
{
    const char *before = world->address;

    world->address = address;
    open_stream(world, STREAM_REQUEST(""), ret_client);
    expect_block(ret_client, "retry: 3000\nid: " EPOCH_TEXT "-0\n\n");
    world->address = before;
}

/* One client cannot have all streams: a newer one ends the oldest of the client with most. */
TEST(one_client_cannot_take_them_all)
{
    enum { MOST = 8 };
    char directory[] = "/tmp/ripd-test-XXXXXX", listen_text[64];
    const char *addresses[] = {"127.0.0.1:0", listen_text};
    const struct http_options options = {.listen = addresses, .listen_count = 2};
    const struct http_source source = {take_question, NULL};
    struct client crowd[2 * MOST], user[MOST], other;
    struct http_limits limits = http_default_limits;
    struct world world = {.http = NULL};
    char *error;

    limits.streams_max = MOST;
    assert_non_null(mkdtemp(directory));
    snprintf(listen_text, sizeof(listen_text), "unix:%s/s", directory);
    assert_int_equal(http_new(&world.http, &options, &source, &error), 0);
    http_set_epoch(world.http, EPOCH);
    http_set_limits(world.http, &limits);
    world.address = http_address(world.http, 0);
    assert_int_equal(http_start(world.http), 0);
    for (size_t i = 0; i < MOST; i++)
        open_and_read(&world, world.address, &crowd[i]);
    for (size_t i = 0; i < MOST / 2; i++) { /* a user takes the place of the crowd's oldest, up to a half of all */
        open_and_read(&world, listen_text, &user[i]);
        client_expect_close(&crowd[i]);
    }
    for (size_t i = MOST; i < 2 * MOST; i++) { /* the crowd's newer ones end its own older ones, and no other */
        open_and_read(&world, world.address, &crowd[i]);
        client_expect_close(&crowd[i - MOST / 2]);
    }
    open_and_read(&world, listen_text, &other); /* as do the user's */
    client_expect_close(&user[0]);
    happen(&world, 1, 1, 0);
    for (size_t i = 1; i < MOST / 2; i++)
        expect_event(&user[i], 1);
    for (size_t i = MOST + MOST / 2; i < 2 * MOST; i++)
        expect_event(&crowd[i], 1);
    expect_event(&other, 1);
    http_stop(world.http);
    assert_int_equal(hits_of(&world, HEALTH_LIMIT_STREAMS), MOST / 2 + MOST + 1);
    http_free(world.http);
    for (size_t i = 0; i < 2 * MOST; i++)
        client_close(&crowd[i]);
    for (size_t i = 0; i < MOST / 2; i++)
        client_close(&user[i]);
    client_close(&other);
    assert_int_equal(rmdir(directory), 0);
}

/* As the server reports it. */
static int streams_open(struct world *world)
{
    struct reply reply;
    const char *found;
    int count;

    client_ask(world->address, GET("/metrics"), &reply);
    found = strstr(reply.body, "\nripd_http_streams ");
    assert_non_null(found);
    count = atoi(strchr(found, ' '));
    free(reply.body);
    return count;
}

/* Bounded memory for a client that never reads; it is dropped, and those that read are not. */
TEST(a_client_that_never_reads)
{
    const uint64_t last = 4000; /* as large as they may be so that none is forgotten */
    const size_t text_bytes = EVENT_STORE_BYTES_MAX / last - sizeof(struct event) - 1;
    struct http_limits limits;
    struct client deaf;
    struct client good;
    struct world world;
    char *block;

    make(&world);
    limits = http_default_limits;
    limits.stall_ns = 3000 * MS_NS; /* long enough for the one that reads on a busy machine */
    limits.sweep_ns = 20 * MS_NS;
    http_set_limits(world.http, &limits);
    start(&world);
    open_stream(&world, STREAM_REQUEST(""), &deaf);
    open_stream(&world, STREAM_REQUEST(""), &good);
    free(next_block(&good));
    for (uint64_t i = 1; i <= last; i++) { /* one by one: however busy the machine is, this one is never far behind */
        happen(&world, i, i, text_bytes);
        block = next_block(&good);
        assert_non_null(block);
        free(block);
    }
    for (int i = 0; i < 4500 && streams_open(&world) != 1; i++)
        usleep(20000);
    http_stop(world.http);
    assert_int_equal(hits_of(&world, HEALTH_LIMIT_STREAM_MEMORY), 1);
    client_close(&deaf);
    client_close(&good);
    world_close(&world);
}

/* One that reads slowly loses nothing that is held, and hears of what is not. */
TEST(a_client_that_reads_late)
{
    uint64_t last = 2 * EVENT_STORE_BYTES_MAX / 2000;
    uint64_t expected = 1;
    struct client client;
    struct world world;
    bool gap = false;

    make(&world);
    start(&world);
    open_stream(&world, STREAM_REQUEST(""), &client);
    free(next_block(&client));
    happen(&world, 1, last, 2000);
    assert_int_equal(ask(&world, GET("/events?limit=1")), 200); /* by now all is in the store */
    while (expected <= last) {
        char *block = next_block(&client);
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
    world_close(&world);
}
