/* SPDX-License-Identifier: Apache-2.0 */
/* test_handler_metrics.c - /metrics over HTTP: before and after the first scan, its type, and who may ask. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/http_world.h"
#include "view/metrics.h"

static void test_answers(void **state)
{
    struct world world;
    struct reply reply;

    (void)state;
    world_open(&world);
    assert_int_equal(client_ask(world.address, GET("/metrics"), &reply), 200);
    assert_true(reply_has(&reply, "Content-Type", METRICS_CONTENT_TYPE));
    assert_non_null(strstr(reply.body, "\nripd_scans_total 0\n"));
    assert_null(strstr(reply.body, "ripd_scan_age_seconds"));
    assert_non_null(strstr(reply.body, "\nprocess_open_fds "));
    assert_non_null(strstr(reply.body, "\nripd_anonymous_memory_bytes "));
    assert_non_null(strstr(reply.body, "\nripd_http_connections 1\n"));
    assert_non_null(strstr(reply.body, "\nripd_http_requests_total 1\n"));
    assert_non_null(strstr(reply.body, "\nripd_http_connections_max 512\n"));
    free(reply.body);
    publish_and_wait(&world, 1, 3);
    assert_int_equal(client_ask(world.address, GET("/metrics"), &reply), 200);
    assert_non_null(strstr(reply.body, "\nripd_ids{state=\"stalled\"} 3\n"));
    assert_non_null(strstr(reply.body, "\nripd_scan_age_seconds 0."));
    free(reply.body);
    world_close(&world);
}

static void test_refusals(void **state)
{
    struct world world;
    struct reply reply;

    (void)state;
    world_open(&world);
    client_ask(world.address, GET("/metrics?name=x"), &reply);
    assert_problem(&reply, 400);
    free(reply.body);
    client_ask(world.address, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", &reply);
    assert_problem(&reply, 421);
    free(reply.body);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
