/* SPDX-License-Identifier: Apache-2.0 */
/* test_askings.c - questions to the scanner: asked once, answered to all, given up in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/http_world.h"

static void test_threads(void **state)
{
    struct world world;
    struct client first;
    struct client second;
    struct reply reply;

    (void)state;
    world_open(&world);
    publish_and_wait(&world, 1, 0);
    client_open(&first, world.address);
    client_open(&second, world.address);
    client_send(&first, GET("/threads?state=stalled") GET("/healthz"));
    wait_for_ticket(&world, 0);
    client_send(&second, GET("/threads?state=stalled"));
    usleep(50000);
    complete(&world, wait_for_ticket(&world, 0), 1, 5);
    client_receive(&first, &reply);
    assert_non_null(strstr(reply.body, "\"schema\":\"ripd/threads/1\""));
    assert_non_null(strstr(reply.body, "\"returned\":5"));
    free(reply.body);
    client_receive(&first, &reply); /* what was pipelined behind it */
    assert_int_equal(reply.status, 200);
    free(reply.body);
    client_receive(&second, &reply);
    assert_int_equal(reply.status, 200);
    free(reply.body);
    assert_int_equal(ask(&world, GET("/threads?state=stalled")), 200);
    assert_int_equal(tickets_of(&world), 1); /* once per scan and query */
    publish_and_wait(&world, 2, 0);
    client_send(&first, GET("/threads?state=stalled"));
    complete(&world, wait_for_ticket(&world, 1), 2, 5);
    client_receive(&first, &reply);
    assert_int_equal(reply.status, 200);
    free(reply.body);
    client_close(&first);
    client_close(&second);
    world_close(&world);
}

/* Different questions at once, answered the other way round. */
static void test_several(void **state)
{
    static const char *const requests[] = {GET("/threads?pid=1"), GET("/threads?pid=2"), GET("/threads?pid=3")};
    struct client clients[COUNT_OF(requests)];
    struct world world;

    (void)state;
    world_open(&world);
    publish_and_wait(&world, 1, 0);
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        client_open(&clients[i], world.address);
        client_send(&clients[i], requests[i]);
        wait_for_ticket(&world, i);
    }
    for (size_t i = COUNT_OF(requests); i-- > 0;) {
        char expected[48];
        struct reply reply;

        complete(&world, world.tickets[i], 1, i + 1);
        client_receive(&clients[i], &reply);
        snprintf(expected, sizeof(expected), "\"returned\":%zu,", i + 1);
        assert_non_null(strstr(reply.body, expected));
        free(reply.body);
        client_close(&clients[i]);
    }
    world_close(&world);
}

static void test_one_thread(void **state)
{
    struct world world;
    struct client client;
    struct reply reply;

    (void)state;
    world_open(&world);
    publish_and_wait(&world, 1, 0);
    client_open(&client, world.address);
    client_send(&client, GET("/threads/check%6fut/17"));
    complete(&world, wait_for_ticket(&world, 0), 1, 1);
    client_receive(&client, &reply);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "\"thread\":{\"ring\":\"checkout\",\"id\":17"));
    free(reply.body);
    client_send(&client, GET("/threads/checkout/18"));
    complete(&world, wait_for_ticket(&world, 1), 1, 0);
    client_receive(&client, &reply);
    assert_problem(&reply, 404);
    free(reply.body);
    client_close(&client);
    world_close(&world);
}

static void test_threads_gone_wrong(void **state)
{
    struct world world;
    struct client client;
    struct reply reply;
    struct http_limits limits;

    (void)state;
    world_make(&world, "127.0.0.1:0");
    limits = world.http->limits;
    limits.wait_ns = UINT64_C(200000000);
    limits.sweep_ns = UINT64_C(50000000);
    http_set_limits(world.http, &limits);
    assert_int_equal(http_start(world.http), 0);
    publish_and_wait(&world, 1, 0);

    client_open(&client, world.address); /* goes before the answer is there */
    client_send(&client, GET("/threads?name=a"));
    wait_for_ticket(&world, 0);
    client_close(&client);
    complete(&world, world.tickets[0], 1, 1000);

    client_open(&client, world.address); /* could not be had */
    client_send(&client, GET("/threads?name=b"));
    http_complete(world.http, wait_for_ticket(&world, 1), NULL);
    client_receive(&client, &reply);
    assert_problem(&reply, 503);
    free(reply.body);

    client_send(&client, GET("/threads?name=c") GET("/threads?name=c2")); /* no answer in time; then one too late */
    client_receive(&client, &reply);
    assert_problem(&reply, 503);
    free(reply.body);
    client_receive(&client, &reply);
    assert_problem(&reply, 503);
    free(reply.body);
    complete(&world, world.tickets[2], 1, 1);
    complete(&world, 12345678, 1, 1); /* nobody's */

    world.refusal = -EAGAIN;
    client_send(&client, GET("/threads?name=d"));
    client_receive(&client, &reply);
    assert_problem(&reply, 503);
    free(reply.body);
    client_close(&client);
    assert_int_equal(ask(&world, GET("/healthz")), 200);
    world_close(&world);
}

/* More questions than the scanner is given at once, and than may wait at all. */
static void test_a_window_of_questions(void **state)
{
    enum { CLIENTS = HTTP_ASKINGS_MAX + 1 };
    struct client clients[CLIENTS];
    struct world world;
    struct reply reply;

    (void)state;
    world_open(&world);
    publish_and_wait(&world, 1, 0);
    for (size_t i = 0; i < CLIENTS; i++) {
        char text[128];

        snprintf(text, sizeof(text), "GET /threads?pid=%zu HTTP/1.1\r\n" HOST "\r\n", i + 1);
        client_open(&clients[i], world.address);
        client_send(&clients[i], text);
        if (i < HTTP_ASKED_MAX)
            wait_for_ticket(&world, i);
        else
            assert_int_equal(ask(&world, GET("/healthz")), 200); /* comes after it */
    }
    assert_int_equal(tickets_of(&world), HTTP_ASKED_MAX);
    client_receive(&clients[CLIENTS - 1], &reply); /* one too many */
    assert_problem(&reply, 503);
    free(reply.body);
    for (size_t i = 0; i < HTTP_ASKINGS_MAX; i++) { /* in the order in which they were asked */
        complete(&world, wait_for_ticket(&world, i), 1, i + 1);
        client_receive(&clients[i], &reply);
        assert_int_equal(reply.status, 200);
        free(reply.body);
        assert_true(tickets_of(&world) <= i + 1 + HTTP_ASKED_MAX);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        client_close(&clients[i]);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_one_thread),
        cmocka_unit_test(test_threads_gone_wrong),
        cmocka_unit_test(test_a_window_of_questions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
