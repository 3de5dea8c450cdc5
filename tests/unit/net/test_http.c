/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c - too many clients, too few descriptors; what the server says of itself; stopping. */
#include <stdbool.h>

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>

#include "support/descriptors.h"
#include "support/test.h"
#include "unit/http_world.h"
#include "unit/sample_event.h"

TEST(connection_cap)
{
    struct http_limits limits;
    struct client holders[4];
    struct world world;

    world_make(&world, "127.0.0.1:0");
    limits = http_default_limits;
    limits.connections_max = COUNT_OF(holders);
    http_set_limits(world.http, &limits);
    assert_int_equal(http_start(world.http), 0);
    for (size_t i = 0; i < COUNT_OF(holders); i++) {
        client_open(&holders[i], world.address);
        client_send(&holders[i], "GET /healthz HTTP/1.1\r\nHost: lo");
        usleep(20000);
    }
    assert_int_equal(ask(&world, GET("/healthz")), 200);
    client_expect_close(&holders[0]); /* the longest incomplete */
    for (size_t i = 1; i < COUNT_OF(holders); i++) {
        client_send(&holders[i], "calhost\r\n\r\n");
        client_expect(&holders[i], 200);
    }
    http_stop(world.http);
    assert_int_equal(hits_of(&world, HEALTH_LIMIT_CONNECTIONS), 1);
    for (size_t i = 0; i < COUNT_OF(holders); i++)
        client_close(&holders[i]);
    world_close(&world);
}

/* Many different long lists for clients that do not listen: they go, who listens stays. */
TEST(memory_cap)
{
    struct health_http health;
    struct http_limits limits;
    struct client deaf[8];
    struct world world;

    world_make(&world, "127.0.0.1:0");
    limits = http_default_limits;
    limits.lists_bytes_max = 24u << 20; /* a list takes about 8 MB */
    http_set_limits(world.http, &limits);
    assert_int_equal(http_start(world.http), 0);
    publish_and_wait(&world, 1, 10000);
    for (size_t i = 0; i < COUNT_OF(deaf); i++) {
        char request[128];

        snprintf(request, sizeof(request), "GET /stalls?limit=10000&min_ms=%zu HTTP/1.1\r\n" HOST "\r\n", i);
        client_open(&deaf[i], world.address);
        client_send(&deaf[i], request);
        assert_int_equal(poll(&(struct pollfd){.fd = deaf[i].descriptor, .events = POLLIN}, 1, 60000), 1);
    }
    assert_int_equal(ask(&world, GET("/stalls?limit=10000")), 200);
    http_stop(world.http);
    assert_in_range(hits_of(&world, HEALTH_LIMIT_ANSWER_MEMORY), 2, 8);
    http_health(world.http, &health);
    assert_true(health.list_bytes <= (24u << 20) + (10u << 20));
    for (size_t i = 0; i < COUNT_OF(deaf); i++)
        client_close(&deaf[i]);
    world_close(&world);
}

/* Without descriptors and without anybody to drop, accepting waits; it does not spin. */
TEST(no_descriptors)
{
    size_t descriptors;
    uint64_t began_mono_ns, waited_ms;
    struct rlimit before;
    struct rlimit none;
    struct client client;
    struct world world;
    struct reply reply;
    int lowest;

    world_open(&world);
    descriptors = count_descriptors();
    client_open(&client, world.address); /* to know its number; closed again */
    client_send(&client, GET("/healthz"));
    client_receive(&client, &reply);
    free(reply.body);
    client_close(&client);
    for (int i = 0; i < 30000 && count_descriptors() != descriptors; i++)
        usleep(1000); /* the server's end */
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    lowest = dup(0);
    close(lowest);
    none = before;
    none.rlim_cur = (rlim_t)lowest + 1; /* the client's own, and none for the server */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    client_open(&client, world.address);
    client_send(&client, GET("/healthz"));
    began_mono_ns = clock_mono_ns();
    usleep(450000);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    waited_ms = (clock_mono_ns() - began_mono_ns) / 1000000;
    client_expect(&client, 200);
    client_close(&client);
    http_stop(world.http);
    assert_in_range(hits_of(&world, HEALTH_LIMIT_ACCEPTS), 1, 5 + waited_ms / 100);
    world_close(&world);
}

TEST(gauges)
{
    struct event *event = sample_event(1, 10);
    struct world world;
    struct health_http health;

    world_open(&world);
    publish_and_wait(&world, 1, 1);
    http_publish_event(world.http, event);
    event_unref(event);
    assert_int_equal(ask(&world, "no request\r\n\r\n"), 400);
    assert_int_equal(ask(&world, GET("/events")), 200);
    http_stop(world.http);
    http_health(world.http, &health);
    assert_int_equal(health.event_count, 1);
    assert_true(health.event_bytes > sizeof(*event));
    assert_true(health.list_bytes > 0); /* the list was kept */
    assert_true(health.accepted_count >= 3);
    assert_int_equal(health.request_count, health.accepted_count); /* each on a connection of its own */
    world_close(&world);
}

TEST(stop_with_waiting_and_sending)
{
    struct world world;
    struct client waiting;
    struct client sending;
    struct client idle;
    uint64_t before_ns;

    world_open(&world);
    publish_and_wait(&world, 1, 10000);
    client_open(&waiting, world.address);
    client_send(&waiting, GET("/threads"));
    wait_for_ticket(&world, 0);
    client_open(&sending, world.address);
    client_send(&sending, GET("/stalls?limit=10000"));
    client_open(&idle, world.address);
    usleep(50000);
    before_ns = clock_mono_ns();
    http_stop(world.http);
    assert_true(clock_mono_ns() - before_ns < UINT64_C(9000000000));
    publish(&world, 2, 1); /* too late, and harmless */
    complete(&world, world.tickets[0], 2, 1);
    client_expect_close(&idle);
    client_close(&waiting);
    client_close(&sending);
    client_close(&idle);
    world_close(&world);
}

/* Names handed over while it runs are the ones that count. */
TEST(allow_hosts_while_running)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: db1.example\r\n\r\n";
    static const char *const first[] = {"db2", "db1.example"}, *const second[] = {"db2"};
    struct world world;

    world_open(&world);
    assert_int_equal(ask(&world, request), 421);
    assert_int_equal(http_allow_hosts(world.http, second, 1), 0); /* of two at once, the last one counts */
    assert_int_equal(http_allow_hosts(world.http, first, 2), 0);
    while (ask(&world, request) != 200)
        usleep(1000);
    assert_int_equal(http_allow_hosts(world.http, NULL, 0), 0);
    while (ask(&world, request) != 421)
        usleep(1000);
    assert_int_equal(http_allow_hosts(world.http, first, 2), 0); /* left in the mailbox, maybe */
    world_close(&world);
}
