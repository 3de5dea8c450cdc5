/* SPDX-License-Identifier: Apache-2.0 */
/* test_http.c - stopping, with clients in every state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
    assert_true(clock_mono_ns() - before_ns < UINT64_C(3000000000));
    publish(&world, 2, 1); /* too late, and harmless */
    complete(&world, world.tickets[0], 2, 1);
    client_expect_close(&idle);
    client_close(&waiting);
    client_close(&sending);
    client_close(&idle);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_with_waiting_and_sending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
