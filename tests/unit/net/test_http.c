/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c - stopping, with clients in every state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "unit/http_world.h"

static void test_stop_with_waiting_and_sending(void **state)
{
    struct world world;
    struct client waiting;
    struct client sending;
    struct client idle;
    uint64_t before_ns;

    (void)state;
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

/* Names handed over while it runs are the ones that count; a list that is refused changes nothing. */
static void test_allow_hosts_while_running(void **state)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: db1.example\r\n\r\n";
    static const char *const first[] = {"db2", "db1.example"}, *const second[] = {"db2"}, *const wrong[] = {"db1:80"};
    struct world world;

    (void)state;
    world_open(&world);
    assert_int_equal(ask(&world, request), 421);
    assert_int_equal(http_allow_hosts(world.http, second, 1), 0); /* of two at once, the last one counts */
    assert_int_equal(http_allow_hosts(world.http, first, 2), 0);
    while (ask(&world, request) != 200)
        usleep(1000);
    assert_int_equal(http_allow_hosts(world.http, wrong, 1), -EINVAL);
    assert_int_equal(ask(&world, request), 200);
    assert_int_equal(http_allow_hosts(world.http, NULL, 0), 0);
    while (ask(&world, request) != 421)
        usleep(1000);
    assert_int_equal(http_allow_hosts(world.http, first, 2), 0); /* left in the mailbox, maybe */
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_with_waiting_and_sending),
        cmocka_unit_test(test_allow_hosts_while_running),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
