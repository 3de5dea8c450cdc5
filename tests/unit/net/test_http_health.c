/* SPDX-License-Identifier: Apache-2.0 */
/* test_http_health.c - what the server says of itself: every limit it can hit, each under its own name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/http_world.h"
#include "unit/sample_event.h"

static void test_limits(void **state)
{
    struct world world;
    struct health_http health;
    struct http_counters *counters;

    (void)state;
    world_make(&world, "127.0.0.1:0");
    counters = &world.http->counters;
    *counters = (struct http_counters){
        .dropped_for_new_count = 1,
        .dropped_for_memory_count = 2,
        .accept_paused_count = 3,
        .request_timeout_count = 4,
        .answer_timeout_count = 5,
        .wait_timeout_count = 6,
        .wait_refused_count = 7,
        .stream_refused_count = 8,
        .stream_dropped_count = 9,
    };
    http_health(world.http, &health);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_CONNECTIONS], 1);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_ANSWER_MEMORY], 2);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_ACCEPTS], 3);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_REQUEST_TIME], 4);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_ANSWER_TIME], 5);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_QUESTIONS], 13);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_STREAMS], 8);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_STREAM_MEMORY], 9);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_RINGS], 0);
    assert_int_equal(health.connections_max, HTTP_CONNECTIONS_MAX);
    assert_int_equal(health.streams_max, HTTP_STREAMS_MAX);
    world_close(&world);
}

static void test_gauges(void **state)
{
    struct event *event = sample_event(1, 10);
    struct world world;
    struct health_http health;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_gauges),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
