/* SPDX-License-Identifier: Apache-2.0 */
/* test_connection.c - requests and answers as bytes on the wire, of clients good, odd and slow. */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"

/* Asks both ways; whether HEAD announces as much as GET then sends. Otherwise they are the same. */
static bool lengths_agree(struct client *client, const char *path)
{
    char request[256];
    struct reply head;
    struct reply get;
    bool agree;

    snprintf(request, sizeof(request), "HEAD %s HTTP/1.1\r\n" HOST "\r\nGET %s HTTP/1.1\r\n" HOST "\r\n", path, path);
    client_send(client, request);
    assert_true(client_receive_any(client, true, &head));
    client_receive(client, &get); /* would be out of step had HEAD a body */
    assert_int_equal(head.status, get.status);
    assert_true(reply_field(&get, "Content-Type") != NULL);
    assert_int_equal(strlen(head.head), strlen(get.head));
    agree = strtoul(reply_field(&head, "Content-Length"), NULL, 10) == get.body_bytes;
    free(head.body);
    free(get.body);
    return agree;
}

TEST(head)
{
    static const char *const paths[] = {"/stalls", "/healthz", "/nothing", "/stalls?limit=0"};
    struct world world;
    struct client client;

    world_open(&world);
    publish_and_wait(&world, 1, 100);
    client_open(&client, world.address);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        bool agree = false;

        for (int tries = 0; tries < 4 && !agree; tries++) /* the scan's age may gain a digit in between */
            agree = lengths_agree(&client, paths[i]);
        assert_true(agree);
    }
    client_close(&client);
    world_close(&world);
}

/* More requests than one turn takes, then the client says that it sends no more: all are answered, in order. */
TEST(pipelining)
{
    struct world world;
    struct client client;
    struct reply reply;

    world_open(&world);
    client_open(&client, world.address);
    for (int i = 0; i < 100; i++)
        client_send(&client, i % 2 == 0 ? GET("/healthz") : "\r\n" GET("/nothing"));
    shutdown(client.descriptor, SHUT_WR);
    for (int i = 0; i < 100; i++) {
        client_receive(&client, &reply);
        assert_int_equal(reply.status, i % 2 == 0 ? 200 : 404);
        free(reply.body);
    }
    client_expect_close(&client);
    client_close(&client);
    world_close(&world);
}

/* The last byte comes together with a shorter request: nothing of the first is remembered. */
TEST(byte_by_byte)
{
    static const char text[] = GET("/stalls?name=worker-17") GET("/healthz");
    size_t alone = strlen(GET("/stalls?name=worker-17")) - 1;
    struct world world;
    struct client client;

    world_open(&world);
    client_open(&client, world.address);
    for (size_t i = 0; i < alone; i++) {
        assert_int_equal(send(client.descriptor, text + i, 1, MSG_NOSIGNAL), 1);
        usleep(1000);
    }
    client_send(&client, text + alone);
    client_expect(&client, 503);
    client_expect(&client, 200);
    client_close(&client);
    world_close(&world);
}

/* Who sends more than is taken can send it all, and reads the answer. */
TEST(long_body)
{
    enum { BODY_BYTES = 8 << 20 };
    char *body = malloc(BODY_BYTES + 1);
    struct world world;
    struct client client;
    struct reply reply;

    world_open(&world);
    memset(body, 'b', BODY_BYTES);
    body[BODY_BYTES] = '\0';
    client_open(&client, world.address);
    client_send(&client, "GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 8388608\r\n\r\n");
    client_send(&client, body);
    client_receive(&client, &reply);
    assert_int_equal(reply.status, 200);
    assert_true(reply_has(&reply, "Connection", "close"));
    free(reply.body);
    free(body);
    client_close(&client);
    world_close(&world);
}

TEST(malformed)
{
    static const struct {
        const char *request;
        int status;
    } rows[] = {
        {"GET /healthz HTTP/1.1\nHost: localhost\n\n", 400},
        {"hello\r\n\r\n", 400},
        {"GET / HTTP/3.0\r\n\r\n", 505},
        {"\x16\x03\x01\x02", 400}, /* TLS */
        {"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400},
    };
    struct world world;

    world_open(&world);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct client client;
        struct reply reply;

        client_open(&client, world.address);
        client_send(&client, rows[i].request);
        client_receive(&client, &reply);
        assert_problem(&reply, rows[i].status);
        assert_true(reply_has(&reply, "Connection", "close"));
        client_expect_close(&client);
        free(reply.body);
        client_close(&client);
    }
    world_close(&world);
}

TEST(long_head)
{
    char *request = malloc(40000);
    size_t length = (size_t)sprintf(request, "GET /healthz HTTP/1.1\r\n" HOST "A: ");
    struct world world;
    struct client client;

    world_open(&world);
    memset(request + length, 'a', 39000 - length);
    memcpy(request + 39000, "\r\n\r\n", 5);
    client_open(&client, world.address);
    client_send(&client, request);
    client_expect_problem(&client, 431);
    client_expect_close(&client);
    client_close(&client);
    memcpy(request + 16000, "\r\n\r\n", 5);
    assert_int_equal(ask(&world, request), 200);
    free(request);
    world_close(&world);
}

/* Who does not listen keeps nobody else waiting, and gets all of it when it does. */
TEST(slow_reader)
{
    struct world world;
    struct client slow;
    struct reply reply;
    json_t *root;

    world_open(&world);
    publish_and_wait(&world, 1, 10000);
    client_open(&slow, world.address);
    for (int i = 0; i < 4; i++)
        client_send(&slow, GET("/stalls?limit=10000"));
    usleep(50000);
    for (int i = 0; i < 20; i++)
        assert_int_equal(ask(&world, GET("/healthz")), 200);
    publish_and_wait(&world, 2, 10); /* what is being sent stays as it was */
    for (int i = 0; i < 4; i++) {
        client_receive(&slow, &reply);
        assert_int_equal(reply.status, 200);
        root = json_loads(reply.body, 0, NULL);
        assert_non_null(root);
        json_decref(root);
        free(reply.body);
    }
    client_close(&slow);
    client_open(&slow, world.address); /* and one that goes in the middle */
    client_send(&slow, GET("/stalls?limit=10000"));
    client_close(&slow);
    assert_int_equal(ask(&world, GET("/healthz")), 200);
    world_close(&world);
}

/* As the server reports it. */
static bool has_dropped_an_answer(struct world *world)
{
    struct reply reply;
    bool dropped;

    client_ask(world->address, GET("/metrics"), &reply);
    dropped = strstr(reply.body, "\nripd_limit_hits_total{limit=\"answer_time\"} 1\n") != NULL;
    free(reply.body);
    return dropped;
}

TEST(time_limits)
{
    struct http_limits limits;
    struct client dripping;
    struct client idle;
    struct client deaf;
    struct world world;
    struct reply reply;

    world_make(&world, "127.0.0.1:0");
    limits = http_default_limits;
    limits.sweep_ns = UINT64_C(20000000);
    limits.idle_ns = UINT64_C(1000000000);
    limits.request_ns = UINT64_C(500000000);
    limits.stall_ns = UINT64_C(1000000000);
    http_set_limits(world.http, &limits);
    assert_int_equal(http_start(world.http), 0);
    publish_and_wait(&world, 1, 10000);
    client_open(&deaf, world.address);
    for (int i = 0; i < 8; i++)
        client_send(&deaf, GET("/stalls?limit=10000"));
    client_open(&idle, world.address);
    client_open(&dripping, world.address);
    for (int i = 0; i < 1000; i++) { /* a byte now and then does not help */
        if (send(dripping.descriptor, "G", 1, MSG_NOSIGNAL) < 0)
            break;
        usleep(10000);
    }
    assert_true(client_receive_any(&dripping, false, &reply));
    assert_problem(&reply, 408);
    free(reply.body);
    client_expect_close(&idle);
    for (int i = 0; i < 1000 && !has_dropped_an_answer(&world); i++)
        usleep(20000);
    http_stop(world.http);
    assert_int_equal(hits_of(&world, HEALTH_LIMIT_REQUEST_TIME), 1);
    assert_int_equal(hits_of(&world, HEALTH_LIMIT_ANSWER_TIME), 1);
    client_close(&dripping);
    client_close(&idle);
    client_close(&deaf);
    world_close(&world);
}
