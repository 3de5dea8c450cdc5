/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule.c - jitter, and scans brought forward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/schedule.h"

#define INTERVAL UINT64_C(1000000000)

static void test_jitter(void **state)
{
    struct schedule schedule;
    uint64_t least = UINT64_MAX, most = 0;

    (void)state;
    schedule_init(&schedule, INTERVAL, 42);
    for (int i = 0; i < 10000; i++) {
        uint64_t wait;

        schedule_next(&schedule, 5 * INTERVAL, UINT64_MAX);
        wait = schedule_wait_ns(&schedule, 5 * INTERVAL);
        assert_in_range(wait, INTERVAL * 9 / 10, INTERVAL);
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    assert_true(least < INTERVAL * 91 / 100); /* and the range is used */
    assert_true(most > INTERVAL * 99 / 100);
}

static void test_brought_forward(void **state)
{
    struct schedule schedule;

    (void)state;
    schedule_init(&schedule, INTERVAL, 0);
    schedule_next(&schedule, 0, INTERVAL / 2);
    assert_int_equal(schedule_wait_ns(&schedule, 0), INTERVAL / 2);
    assert_int_equal(schedule_wait_ns(&schedule, INTERVAL / 2), 0);
    assert_int_equal(schedule_wait_ns(&schedule, INTERVAL), 0);
}

/* A suspect that is due already must not make the daemon scan without pause. */
static void test_least_distance(void **state)
{
    struct schedule schedule;

    (void)state;
    schedule_init(&schedule, INTERVAL, 1);
    schedule_next(&schedule, 7 * INTERVAL, 7 * INTERVAL);
    assert_int_equal(schedule_wait_ns(&schedule, 7 * INTERVAL), INTERVAL / 16);
    schedule_next(&schedule, 7 * INTERVAL, 0);
    assert_int_equal(schedule_wait_ns(&schedule, 7 * INTERVAL), INTERVAL / 16);
}

/* A scan just before a due instant would keep the next one from being in time. */
static void test_out_of_the_way(void **state)
{
    struct schedule schedule;
    uint64_t due = 9 * INTERVAL / 10 + INTERVAL / 100, wait;

    (void)state;
    for (uint64_t seed = 1; seed < 1000; seed++) {
        schedule_init(&schedule, INTERVAL, seed);
        schedule_next(&schedule, 0, INTERVAL + seed);
        wait = schedule_wait_ns(&schedule, 0);
        assert_true(INTERVAL + seed - wait >= INTERVAL / 16);
        assert_in_range(wait, INTERVAL * 83 / 100, INTERVAL);
        schedule_next(&schedule, 0, due);
        wait = schedule_wait_ns(&schedule, 0);
        assert_true(wait == due || due - wait >= INTERVAL / 16);
    }
}

static void test_another_interval(void **state)
{
    struct schedule schedule;

    (void)state;
    schedule_init(&schedule, 60 * INTERVAL, 1);
    schedule_next(&schedule, 0, UINT64_MAX);
    schedule_set_interval(&schedule, INTERVAL, 5 * INTERVAL); /* shorter: not only when the long one is over */
    assert_int_equal(schedule_wait_ns(&schedule, 5 * INTERVAL), INTERVAL);
    schedule_set_interval(&schedule, INTERVAL, 6 * INTERVAL - 3); /* what is nearer stays where it is */
    assert_int_equal(schedule_wait_ns(&schedule, 6 * INTERVAL - 3), 3);
    schedule_next(&schedule, 6 * INTERVAL, UINT64_MAX);
    assert_in_range(schedule_wait_ns(&schedule, 6 * INTERVAL), INTERVAL * 9 / 10, INTERVAL);
    schedule_set_interval(&schedule, 60 * INTERVAL, 6 * INTERVAL); /* longer: from the next scan on */
    assert_in_range(schedule_wait_ns(&schedule, 6 * INTERVAL), INTERVAL * 9 / 10, INTERVAL);
    schedule_set_interval(&schedule, INTERVAL, 9 * INTERVAL);
    assert_int_equal(schedule_wait_ns(&schedule, 9 * INTERVAL), 0); /* one that is overdue stays so */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jitter),           cmocka_unit_test(test_brought_forward),
        cmocka_unit_test(test_least_distance),   cmocka_unit_test(test_out_of_the_way),
        cmocka_unit_test(test_another_interval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
