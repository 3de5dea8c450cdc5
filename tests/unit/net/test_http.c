/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c - too many clients, too few descriptors, the gauges of the server, and stopping: ripd/net/http.c. */
#include <stdbool.h>

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>

#include "support/descriptors.h"
#include "support/test.h"
#include "unit/http_world.h"

TEST(connection_limit, world_prepare, world_tear_down)
{
    struct http_limits limits = http_default_limits;
    struct client incomplete[4];

    limits.connections_max = COUNT_OF(incomplete);
    world_start(&limits);
    for (size_t i = 0; i < COUNT_OF(incomplete); i++) {
        incomplete[i] = connect_and_send("GET /healthz HTTP/1.1\r\nHost: lo");
        usleep(20000);
    }
    assert_int_equal(get("/healthz"), 200);
    client_expect_close(&incomplete[0]); /* the one incomplete for longest */
    for (size_t i = 1; i < COUNT_OF(incomplete); i++) {
        client_send(&incomplete[i], "calhost\r\n\r\n");
        client_expect(&incomplete[i], 200);
    }
    assert_int_equal(world_stop_and_count(HEALTH_LIMIT_CONNECTIONS), 1);
    for (size_t i = 0; i < COUNT_OF(incomplete); i++)
        client_close(&incomplete[i]);
}

/* Many different long lists for clients that do not read: those clients are dropped, a client that reads is not. */
TEST(memory_limit, world_prepare, world_tear_down)
{
    struct http_limits limits = http_default_limits;
    struct health_http health;
    struct client deaf[8];

    limits.lists_bytes_max = 24u << 20; /* a list takes about 8 MB */
    world_start(&limits);
    publish_and_wait(1, 10000);
    for (size_t i = 0; i < COUNT_OF(deaf); i++) {
        char target[64];

        snprintf(target, sizeof(target), "/stalls?limit=10000&min_ms=%zu", i);
        deaf[i] = client_open(world.address);
        client_send_get(&deaf[i], target);
        assert_int_equal(poll(&(struct pollfd){.fd = deaf[i].descriptor, .events = POLLIN}, 1, 60000), 1);
    }
    assert_int_equal(get("/stalls?limit=10000"), 200);
    assert_in_range(world_stop_and_count(HEALTH_LIMIT_ANSWER_MEMORY), 2, 8);
    http_health(world.http, &health);
    assert_true(health.list_bytes <= (24u << 20) + (10u << 20));
    for (size_t i = 0; i < COUNT_OF(deaf); i++)
        client_close(&deaf[i]);
}

/* Without a free descriptor and without a connection to drop, the server waits before it accepts again. */
TEST(no_descriptors, world_set_up, world_tear_down)
{
    size_t descriptors = count_descriptors();
    uint64_t began_mono_ns, waited_ms;
    struct rlimit before, none;
    struct client client;
    int lowest;

    assert_int_equal(get("/healthz"), 200);
    for (int i = 0; i < 30000 && count_descriptors() != descriptors; i++)
        usleep(1000); /* until the server has closed its end */
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    lowest = dup(0);
    close(lowest);
    none = before;
    none.rlim_cur = (rlim_t)lowest + 1; /* one for the client, none for the server */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    client = connect_and_send(GET("/healthz"));
    began_mono_ns = clock_mono_ns();
    usleep(450000);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    waited_ms = (clock_mono_ns() - began_mono_ns) / MS_NS;
    client_expect(&client, 200);
    client_close(&client);
    assert_in_range(world_stop_and_count(HEALTH_LIMIT_ACCEPTS), 1, 5 + waited_ms / 100);
}

TEST(gauges, world_set_up, world_tear_down)
{
    struct health_http health;

    publish_and_wait(1, 1);
    publish_events(1, 1, 10);
    assert_int_equal(fetch("no request\r\n\r\n"), 400);
    assert_int_equal(get("/events"), 200);
    http_stop(world.http);
    http_health(world.http, &health);
    assert_int_equal(health.event_count, 1);
    assert_true(health.event_bytes > sizeof(struct event));
    assert_true(health.list_bytes > 0); /* the list is cached */
    assert_true(health.accepted_count >= 3);
    assert_int_equal(health.request_count, health.accepted_count); /* one request per connection */
}

TEST(stop_while_clients_wait_and_read, world_set_up, world_tear_down)
{
    struct client waiting, sending, idle;
    uint64_t before_ns;

    publish_and_wait(1, 10000);
    waiting = connect_and_send(GET("/threads"));
    wait_for_ticket(0);
    sending = connect_and_send(GET("/stalls?limit=10000"));
    idle = client_open(world.address);
    usleep(50000);
    before_ns = clock_mono_ns();
    http_stop(world.http);
    assert_true(clock_mono_ns() - before_ns < 9000 * MS_NS);
    publish(2, 1); /* too late, and without effect */
    answer_query(0, 2, 1);
    client_expect_close(&idle);
    client_close(&waiting);
    client_close(&sending);
    client_close(&idle);
}

TEST(allow_hosts_while_running, world_set_up, world_tear_down)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: db1.example\r\n\r\n";
    static const char *const first[] = {"db2", "db1.example"}, *const second[] = {"db2"};

    assert_int_equal(fetch(request), 421);
    assert_int_equal(http_allow_hosts(world.http, second, 1), 0); /* the last of two calls counts */
    assert_int_equal(http_allow_hosts(world.http, first, 2), 0);
    while (fetch(request) != 200)
        usleep(1000);
    assert_int_equal(http_allow_hosts(world.http, NULL, 0), 0);
    while (fetch(request) != 421)
        usleep(1000);
    assert_int_equal(http_allow_hosts(world.http, first, 2), 0); /* possibly still in the mailbox when it stops */
}
