/* SPDX-License-Identifier: Apache-2.0 */
/* test_time_limit.c - one request to end, then repeated kills: ripd/util/time_limit.c. */
#include "support/test.h"
#include "util/time_limit.h"

TEST(in_time)
{
    struct time_limit limit;

    time_limit_init(&limit, 1000, 300, 50);
    assert_int_equal(limit.next_mono_ns, 1300);
    assert_int_equal(time_limit_step(&limit, 1000), TIME_LIMIT_NOTHING);
    assert_int_equal(time_limit_step(&limit, 1299), TIME_LIMIT_NOTHING);
    assert_false(limit.passed);
}

TEST(too_late)
{
    struct time_limit limit;

    time_limit_init(&limit, 1000, 300, 50);
    assert_int_equal(time_limit_step(&limit, 1310), TIME_LIMIT_ASK);
    assert_true(limit.passed);
    assert_int_equal(time_limit_step(&limit, 1310), TIME_LIMIT_NOTHING);
    assert_int_equal(limit.next_mono_ns, 1360); /* the grace period begins with the request, even a late one */
    assert_int_equal(time_limit_step(&limit, 1359), TIME_LIMIT_NOTHING);
    assert_int_equal(time_limit_step(&limit, 1360), TIME_LIMIT_KILL);
    assert_int_equal(time_limit_step(&limit, 1409), TIME_LIMIT_NOTHING);
    assert_int_equal(time_limit_step(&limit, 1410), TIME_LIMIT_KILL);
}
