/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedule.c - jitter, and scans that are made earlier. */
#include "detect/schedule.h"
#include "support/test.h"

#define INTERVAL UINT64_C(1000000000)

static struct schedule schedule; /* each test initializes it */

static void init(uint64_t seed)
{
    schedule_init(&schedule, INTERVAL, seed);
}

static void next(uint64_t now, uint64_t due)
{
    schedule_next(&schedule, now, due);
}

static uint64_t wait_at(uint64_t now)
{
    return schedule_wait_ns(&schedule, now);
}

TEST(jitter)
{
    uint64_t least = UINT64_MAX, most = 0;

    init(42);
    for (int i = 0; i < 10000; i++) {
        uint64_t wait;

        next(5 * INTERVAL, UINT64_MAX);
        wait = wait_at(5 * INTERVAL);
        assert_in_range(wait, INTERVAL * 9 / 10, INTERVAL);
        least = wait < least ? wait : least;
        most = wait > most ? wait : most;
    }
    assert_true(least < INTERVAL * 91 / 100); /* the whole range is used */
    assert_true(most > INTERVAL * 99 / 100);
}

/* A suspect that is due earlier than the next scan. */
TEST(an_earlier_scan)
{
    init(0);
    next(0, INTERVAL / 2);
    assert_int_equal(wait_at(0), INTERVAL / 2);
    assert_int_equal(wait_at(INTERVAL / 2), 0);
    assert_int_equal(wait_at(INTERVAL), 0);
}

/* A suspect that is due already must not make the daemon scan without a pause. */
TEST(minimum_distance)
{
    init(1);
    next(7 * INTERVAL, 7 * INTERVAL);
    assert_int_equal(wait_at(7 * INTERVAL), INTERVAL / 16);
    next(7 * INTERVAL, 0);
    assert_int_equal(wait_at(7 * INTERVAL), INTERVAL / 16);
}

/* A scan shortly before a suspect is due would delay the next scan. */
TEST(no_scan_shortly_before_a_suspect_is_due)
{
    uint64_t due = 9 * INTERVAL / 10 + INTERVAL / 100, wait;

    for (uint64_t seed = 1; seed < 1000; seed++) {
        init(seed);
        next(0, INTERVAL + seed);
        wait = wait_at(0);
        assert_true(INTERVAL + seed - wait >= INTERVAL / 16);
        assert_in_range(wait, INTERVAL * 83 / 100, INTERVAL);
        next(0, due);
        wait = wait_at(0);
        assert_true(wait == due || due - wait >= INTERVAL / 16);
    }
}

TEST(another_interval)
{
    schedule_init(&schedule, 60 * INTERVAL, 1);
    next(0, UINT64_MAX);
    schedule_set_interval(&schedule, INTERVAL, 5 * INTERVAL); /* shorter: takes effect at once */
    assert_int_equal(wait_at(5 * INTERVAL), INTERVAL);
    schedule_set_interval(&schedule, INTERVAL, 6 * INTERVAL - 3); /* an earlier scan stays */
    assert_int_equal(wait_at(6 * INTERVAL - 3), 3);
    next(6 * INTERVAL, UINT64_MAX);
    assert_in_range(wait_at(6 * INTERVAL), INTERVAL * 9 / 10, INTERVAL);
    schedule_set_interval(&schedule, 60 * INTERVAL, 6 * INTERVAL); /* longer: takes effect after the next scan */
    assert_in_range(wait_at(6 * INTERVAL), INTERVAL * 9 / 10, INTERVAL);
    schedule_set_interval(&schedule, INTERVAL, 9 * INTERVAL);
    assert_int_equal(wait_at(9 * INTERVAL), 0); /* an overdue scan stays overdue */
}
