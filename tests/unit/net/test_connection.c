/* SPDX-License-Identifier: Apache-2.0 */
/* test_connection.c - requests and replies as bytes on the wire, of correct, odd and slow clients. */
#include <stdbool.h>

#include "support/test.h"
#include "unit/http_world.h"

/* HEAD and GET have the same fields. Returns whether HEAD announces the length that GET then sends. */
static bool lengths_agree(struct client *client, const char *path)
{
    char request[256], head[sizeof(reply.head)];
    size_t length;

    snprintf(request, sizeof(request), "HEAD %s HTTP/1.1\r\n" HOST "\r\nGET %s HTTP/1.1\r\n" HOST "\r\n", path, path);
    client_send(client, request);
    assert_true(client_receive_any(client, true));
    length = strtoul(reply_field("Content-Length"), NULL, 10);
    memcpy(head, reply.head, sizeof(head));
    client_expect(client, reply.status); /* fails if HEAD had a body */
    assert_non_null(reply_field("Content-Type"));
    assert_int_equal(strlen(head), strlen(reply.head));
    return length == reply.body_bytes;
}

TEST(head, world_set_up, world_tear_down)
{
    static const char *const paths[] = {"/stalls", "/healthz", "/nothing", "/stalls?limit=0"};
    struct client client;

    publish_and_wait(1, 100);
    client = client_open(world.address);
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        bool agree = false;

        for (int tries = 0; tries < 4 && !agree; tries++) /* the age of the scan may gain a digit in between */
            agree = lengths_agree(&client, paths[i]);
        assert_true(agree);
    }
    client_close(&client);
}

/* More requests than one turn takes, then the client shuts down its side: all are answered, in order. */
TEST(pipelining, world_set_up, world_tear_down)
{
    struct client client = client_open(world.address);

    for (int i = 0; i < 100; i++)
        client_send(&client, i % 2 == 0 ? GET("/healthz") : "\r\n" GET("/nothing"));
    shutdown(client.descriptor, SHUT_WR);
    for (int i = 0; i < 100; i++)
        client_expect(&client, i % 2 == 0 ? 200 : 404);
    client_expect_close(&client);
    client_close(&client);
}

/* The last byte comes together with a shorter request: nothing of the first request is kept. */
TEST(byte_by_byte, world_set_up, world_tear_down)
{
    static const char text[] = GET("/stalls?name=worker-17") GET("/healthz");
    size_t alone = strlen(GET("/stalls?name=worker-17")) - 1;
    struct client client = client_open(world.address);

    for (size_t i = 0; i < alone; i++) {
        assert_int_equal(send(client.descriptor, text + i, 1, MSG_NOSIGNAL), 1);
        usleep(1000);
    }
    client_send(&client, text + alone);
    client_expect(&client, 503);
    client_expect(&client, 200);
    client_close(&client);
}

/* A client that sends a body can send all of it, and reads the reply. */
TEST(long_body, world_set_up, world_tear_down)
{
    enum { BODY_BYTES = 8 << 20 };
    char *body = malloc(BODY_BYTES + 1);
    struct client client = connect_and_send("GET /healthz HTTP/1.1\r\n" HOST "Content-Length: 8388608\r\n\r\n");

    memset(body, 'b', BODY_BYTES);
    body[BODY_BYTES] = '\0';
    client_send(&client, body);
    client_expect(&client, 200);
    assert_field("Connection", "close");
    free(body);
    client_close(&client);
}

TEST(long_head, world_set_up, world_tear_down)
{
    char *request = malloc(40000);
    size_t length = (size_t)sprintf(request, "GET /healthz HTTP/1.1\r\n" HOST "A: ");
    struct client client;

    memset(request + length, 'a', 39000 - length);
    memcpy(request + 39000, "\r\n\r\n", 5);
    client = connect_and_send(request);
    client_expect_problem(&client, 431);
    client_expect_close(&client);
    client_close(&client);
    memcpy(request + 16000, "\r\n\r\n", 5);
    assert_int_equal(fetch(request), 200);
    free(request);
}

/* A client that reads late delays no other client, and gets complete replies when it reads. */
TEST(slow_reader, world_set_up, world_tear_down)
{
    struct client slow;

    publish_and_wait(1, 10000);
    slow = client_open(world.address);
    for (int i = 0; i < 4; i++)
        client_send(&slow, GET("/stalls?limit=10000"));
    usleep(50000);
    for (int i = 0; i < 20; i++)
        assert_int_equal(get("/healthz"), 200);
    publish_and_wait(2, 10); /* does not change what is being sent */
    for (int i = 0; i < 4; i++) {
        client_expect(&slow, 200);
        json_decref(reply_json());
    }
    client_close(&slow);
    slow = connect_and_send(GET("/stalls?limit=10000")); /* a client that closes in the middle of a reply */
    client_close(&slow);
    assert_int_equal(get("/healthz"), 200);
}

static bool has_dropped_a_reply(void)
{
    get("/metrics");
    return strstr(reply.body, "\nripd_limit_hits_total{limit=\"answer_time\"} 1\n") != NULL;
}

TEST(time_limits, world_prepare, world_tear_down)
{
    struct http_limits limits = http_default_limits;
    struct client dripping, idle, deaf;

    limits.sweep_ns = 20 * MS_NS;
    limits.idle_ns = 1000 * MS_NS;
    limits.request_ns = 500 * MS_NS;
    limits.stall_ns = 1000 * MS_NS;
    world_start(&limits);
    publish_and_wait(1, 10000);
    deaf = client_open(world.address);
    for (int i = 0; i < 8; i++)
        client_send(&deaf, GET("/stalls?limit=10000"));
    idle = client_open(world.address);
    dripping = client_open(world.address);
    for (int i = 0; i < 1000; i++) { /* single bytes do not extend the time */
        if (send(dripping.descriptor, "G", 1, MSG_NOSIGNAL) < 0)
            break;
        usleep(10000);
    }
    client_expect_problem(&dripping, 408);
    client_expect_close(&idle);
    for (int i = 0; i < 1000 && !has_dropped_a_reply(); i++)
        usleep(20000);
    assert_int_equal(world_stop_and_count(HEALTH_LIMIT_REQUEST_TIME), 1);
    assert_int_equal(world_stop_and_count(HEALTH_LIMIT_ANSWER_TIME), 1);
    client_close(&dripping);
    client_close(&idle);
    client_close(&deaf);
}
