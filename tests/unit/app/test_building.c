/* SPDX-License-Identifier: Apache-2.0 */
/* test_building.c - long lists are built in slices: complete, once for all who ask, while others are answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>

#include "unit/http_world.h"

#define LONG_LIST "/stalls?limit=10000"
#define LONG_COUNT 10000u
#define CRUMBS 16u

/* Stalls enough for a list of tens of megabytes. */
static struct snapshot *long_snapshot(uint64_t sequence, size_t count)
{
    struct snapshot *snapshot = sample_snapshot(sequence, clock_mono_ns(), 0);
    struct process_facts *process = snapshot->rings[0].processes[0];

    free(snapshot->stalls);
    snapshot->stalls = calloc(count, sizeof(*snapshot->stalls));
    snapshot->stall_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = sample_item(process_facts_ref(process), "checkout", 1, i, "worker", 6, CRUMBS);

        snapshot->stalls[i] = sample_stall(item, 1000 + i);
    }
    return snapshot;
}

static void publish_long(struct world *world, uint64_t sequence, size_t count)
{
    struct snapshot *snapshot = long_snapshot(sequence, count);
    char expected[64];
    struct reply reply;
    bool there = false;

    http_publish(world->http, snapshot);
    snapshot_unref(snapshot);
    snprintf(expected, sizeof(expected), "\"sequence\":%llu,", (unsigned long long)sequence);
    for (int i = 0; i < 5000 && !there; i++) {
        client_ask(world->address, GET("/stalls?limit=1"), &reply);
        there = strstr(reply.body, expected) != NULL;
        free(reply.body);
    }
    assert_true(there);
}

static void assert_whole(const struct reply *reply, size_t count)
{
    json_t *root = json_loads(reply->body, 0, NULL);
    json_t *list = json_object_get(root, "stalls");

    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "returned")), count);
    assert_int_equal(json_array_size(list), count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(json_integer_value(json_object_get(json_array_get(list, i), "id")), i);
    json_decref(root);
}

static void test_whole_and_once(void **state)
{
    struct http_limits limits;
    struct client clients[3];
    struct reply reply;
    struct world world;
    size_t body_bytes = 0;

    (void)state;
    world_make(&world, "127.0.0.1:0");
    limits = world.http->limits;
    limits.stall_ns *= 10; /* a busy machine is long about what the first one got */
    http_set_limits(world.http, &limits);
    assert_int_equal(http_start(world.http), 0);
    publish_long(&world, 1, LONG_COUNT);
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        client_open(&clients[i], world.address);
        client_send(&clients[i], GET(LONG_LIST) GET("/healthz"));
    }
    for (size_t i = 0; i < COUNT_OF(clients); i++) {
        client_receive(&clients[i], &reply);
        assert_int_equal(reply.status, 200);
        assert_true(body_bytes == 0 || body_bytes == reply.body_bytes);
        body_bytes = reply.body_bytes;
        if (i == 0)
            assert_whole(&reply, LONG_COUNT);
        free(reply.body);
        client_receive(&clients[i], &reply); /* the connection goes on */
        assert_int_equal(reply.status, 200);
        free(reply.body);
        client_close(&clients[i]);
    }
    http_stop(world.http);
    assert_true(body_bytes > 10 * HTTP_BUILD_BYTES_PER_TURN);
    assert_in_range(world.http->pages.alive_bytes, body_bytes, body_bytes + body_bytes / 8); /* one, not three */
    world_close(&world);
}

/* True if the other answer came first, false if the long one did; -1: both were there when this looked. */
static int race_against_the_list(struct world *world)
{
    struct client slow;
    struct client quick;
    struct pollfd polled[2];
    struct reply reply;

    client_open(&slow, world->address);
    client_open(&quick, world->address);
    client_send(&quick, GET("/healthz")); /* so that its connection is accepted */
    client_receive(&quick, &reply);
    free(reply.body);
    client_send(&slow, GET(LONG_LIST));
    usleep(2000); /* it is at it */
    client_send(&quick, GET("/healthz"));
    polled[0] = (struct pollfd){.fd = slow.descriptor, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = quick.descriptor, .events = POLLIN};
    assert_true(poll(polled, 2, CLIENT_WAIT_SECONDS * 1000) > 0);
    client_close(&slow); /* it waits no longer: the list is given up */
    client_close(&quick);
    return polled[0].revents != 0 && polled[1].revents != 0 ? -1 : polled[1].revents != 0;
}

static void test_others_are_answered_meanwhile(void **state)
{
    struct world world;
    int first = 0;

    (void)state;
    world_open(&world);
    for (uint64_t round = 1; round <= 100 && first < 3; round++) {
        publish_long(&world, round, LONG_COUNT);
        first += race_against_the_list(&world) == 1;
    }
    assert_int_equal(first, 3);
    world_close(&world);
}

static void test_given_up_when_nobody_waits(void **state)
{
    struct client client;
    struct world world;

    (void)state;
    world_open(&world);
    publish_long(&world, 1, LONG_COUNT);
    for (int i = 0; i < 5; i++) {
        client_open(&client, world.address);
        client_send(&client, GET(LONG_LIST));
        usleep(1000);
        client_close(&client);
    }
    assert_int_equal(ask(&world, GET("/stalls?limit=60")), 200);
    world_close(&world);
}

/* Answers of the scanner, long and short, while a list is being built. */
static void test_answers_of_the_scanner_meanwhile(void **state)
{
    struct snapshot *snapshot = long_snapshot(1, 5000);
    struct client clients[3];
    struct query query;
    struct reply reply;
    struct world world;

    (void)state;
    world_open(&world);
    http_publish(world.http, snapshot);
    client_open(&clients[0], world.address);
    client_send(&clients[0], GET("/threads?limit=5000"));
    wait_for_ticket(&world, 0);
    client_open(&clients[1], world.address);
    client_send(&clients[1], GET("/threads?limit=4999"));
    wait_for_ticket(&world, 1);
    client_open(&clients[2], world.address);
    client_send(&clients[2], GET("/threads?limit=3"));
    wait_for_ticket(&world, 2);
    for (size_t i = 0; i < 3; i++) {
        query_init(&query);
        query.limit = i == 0 ? 5000 : i == 1 ? 4999 : 3;
        http_complete(world.http, world.tickets[i], query_stalls(&query, snapshot));
    }
    for (size_t i = 0; i < 3; i++) {
        client_receive(&clients[2 - i], &reply);
        assert_int_equal(reply.status, 200);
        assert_non_null(strstr(reply.body, i == 0   ? "\"returned\":3,"
                                           : i == 1 ? "\"returned\":4999,"
                                                    : "\"returned\":5000,"));
        free(reply.body);
        client_close(&clients[2 - i]);
    }
    snapshot_unref(snapshot);
    world_close(&world);
}

static void test_stopping_in_between(void **state)
{
    struct client client;
    struct world world;

    (void)state;
    world_open(&world);
    publish_long(&world, 1, LONG_COUNT);
    client_open(&client, world.address);
    client_send(&client, GET(LONG_LIST));
    usleep(3000);
    world_close(&world);
    client_close(&client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_and_once),
        cmocka_unit_test(test_others_are_answered_meanwhile),
        cmocka_unit_test(test_given_up_when_nobody_waits),
        cmocka_unit_test(test_answers_of_the_scanner_meanwhile),
        cmocka_unit_test(test_stopping_in_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
