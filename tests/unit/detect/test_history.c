/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_history.c - scans by stamp, and dropping scans that no id refers to.
 */
#include <stdlib.h>

#include "detect/history.h"
#include "support/test.h"

static struct history history;

static int setup(void **state)
{
    (void)state;
    return history_init(&history);
}

static int teardown(void **state)
{
    (void)state;
    history_done(&history);
    return 0;
}

static uint32_t push(uint64_t credit_ns, uint64_t previous_mono_ns)
{
    return history_push(&history, (struct history_scan){credit_ns, previous_mono_ns});
}

TEST(stamps_count_up_and_keep_their_times, setup, teardown)
{
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(push(10 * i, 7 * i), i);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(history.scans[i].credit_ns, 10 * i);
        assert_int_equal(history.scans[i].previous_mono_ns, 7 * i);
    }
}

TEST(count_of_scans_until_a_time, setup, teardown)
{
    assert_int_equal(history_count_until(&history, 100), 0);
    for (uint32_t i = 1; i <= 5; i++)
        push(10 * i, 0);
    for (uint64_t time = 0; time < 60; time++)
        assert_int_equal(history_count_until(&history, time), time < 50 ? time / 10 : 5);
    assert_int_equal(history_count_until(&history, UINT64_MAX), 5);
}

TEST(pruning_keeps_what_is_in_use, setup, teardown)
{
    uint32_t *marks, pushed = 0;

    while (!history_is_full(&history)) {
        push(pushed, 2 * pushed);
        pushed++;
    }
    marks = calloc(history.count, sizeof(*marks));
    assert_non_null(marks);
    marks[3] = marks[1000] = marks[pushed - 1] = 1;
    history_prune(&history, marks);
    assert_int_equal(history.count, 3);
    assert_int_equal(marks[3], 0);
    assert_int_equal(marks[1000], 1);
    assert_int_equal(marks[pushed - 1], 2);
    assert_int_equal(history.scans[1].credit_ns, 1000);
    assert_int_equal(history.scans[2].previous_mono_ns, 2 * (pushed - 1));
    assert_false(history_is_full(&history));
    assert_int_equal(push(pushed, 0), 3);
    free(marks);
}

/* If all scans are in use, not every scan may prune. If few are, memory must be released. */
TEST(the_limit_follows_the_use, setup, teardown)
{
    uint32_t *marks, at_least;

    for (int round = 0; round < 3; round++) {
        while (!history_is_full(&history))
            push(history.count, 0);
        marks = calloc(history.count, sizeof(*marks));
        for (uint32_t i = 0; i < history.count; i++)
            marks[i] = 1;
        at_least = 2 * history.count;
        history_prune(&history, marks);
        assert_true(history.prune_count >= at_least);
        free(marks);
    }
    marks = calloc(history.count, sizeof(*marks));
    marks[0] = 1;
    history_prune(&history, marks);
    free(marks);
    assert_true(history.capacity <= 2 * history.prune_count);
    assert_true(history.capacity * sizeof *history.scans <= 128 * 1024);
}
