/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule.c - jitter, and scans brought forward. */
#include "detect/schedule.h"
#include "support/test.h"

#define INTERVAL UINT64_C(1000000000)

TEST(jitter)
{
    struct schedule schedule;
    uint64_t least = UINT64_MAX, most = 0;

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

TEST(brought_forward)
{
    struct schedule schedule;

    schedule_init(&schedule, INTERVAL, 0);
    schedule_next(&schedule, 0, INTERVAL / 2);
    assert_int_equal(schedule_wait_ns(&schedule, 0), INTERVAL / 2);
    assert_int_equal(schedule_wait_ns(&schedule, INTERVAL / 2), 0);
    assert_int_equal(schedule_wait_ns(&schedule, INTERVAL), 0);
}

/* A suspect that is due already must not make the daemon scan without pause. */
TEST(least_distance)
{
    struct schedule schedule;

    schedule_init(&schedule, INTERVAL, 1);
    schedule_next(&schedule, 7 * INTERVAL, 7 * INTERVAL);
    assert_int_equal(schedule_wait_ns(&schedule, 7 * INTERVAL), INTERVAL / 16);
    schedule_next(&schedule, 7 * INTERVAL, 0);
    assert_int_equal(schedule_wait_ns(&schedule, 7 * INTERVAL), INTERVAL / 16);
}

/* A scan just before a due instant would keep the next one from being in time. */
TEST(out_of_the_way)
{
    struct schedule schedule;
    uint64_t due = 9 * INTERVAL / 10 + INTERVAL / 100, wait;

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

TEST(another_interval)
{
    struct schedule schedule;

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
