/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_open.c - open episodes, in order of their numbers: ripd/record/event_open.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/event_open.h"
#include "unit/event_samples.h"

static void add(struct event_open_set *set, uint64_t sequence, uint64_t episode)
{
    struct event *event = sample_begin(sequence, episode);
    struct event_subject subject = {.episode = episode};

    assert_int_equal(event_open_add(set, event, &subject), 0);
    assert_int_equal(event_open_add(set, event, &subject), -EEXIST);
    event_unref(event);
}

static void test_in_any_order(void **state)
{
    static const uint64_t episodes[] = {5, 9, 1, 7, 3};
    struct event_open_set set = {0};

    (void)state;
    for (size_t i = 0; i < 5; i++)
        add(&set, episodes[i], episodes[i]);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(set.episodes[i].subject.episode, 1 + 2 * i);
    assert_null(event_open_find(&set, 4));
    assert_int_equal(event_open_find(&set, 7)->begin->episode, 7);
    event_open_remove(&set, 4);
    event_open_remove(&set, 5);
    assert_int_equal(set.count, 4);
    assert_null(event_open_find(&set, 5));
    event_open_done(&set);
    event_open_done(&set);
}

/* What was open behind a certain event, though more has happened since. */
static void test_as_of(void **state)
{
    struct event_open_set set = {0}, copy;

    (void)state;
    for (uint64_t i = 1; i <= 6; i++)
        add(&set, i, i);
    event_open_find(&set, 1)->end_sequence = 7;
    event_open_find(&set, 2)->end_sequence = 9;
    assert_int_equal(event_open_copy(&set, 5, &copy), 0); /* the sixth had not begun, nobody had ended */
    assert_int_equal(copy.count, 5);
    event_open_done(&copy);
    assert_int_equal(event_open_copy(&set, 8, &copy), 0);
    assert_int_equal(copy.count, 5);
    assert_int_equal(copy.episodes[0].subject.episode, 2);
    event_open_done(&copy);
    event_open_forget(&set, 8);
    assert_int_equal(set.count, 5);
    assert_null(event_open_find(&set, 1));
    assert_non_null(event_open_find(&set, 2));
    event_open_done(&set);
}

/* Its memory goes with what it holds. */
static void test_gives_back(void **state)
{
    struct event_open_set set = {0};

    (void)state;
    for (uint64_t i = 1; i <= 5000; i++)
        add(&set, i, i);
    for (uint64_t i = 2501; i <= 5000; i++)
        event_open_find(&set, i)->end_sequence = 6000;
    event_open_forget(&set, 6000);
    assert_true(set.capacity < 4000);
    for (uint64_t i = 1; i <= 2500; i++)
        event_open_remove(&set, i);
    assert_int_equal(set.count, 0);
    assert_true(set.capacity < 1000);
    event_open_done(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_in_any_order), cmocka_unit_test(test_as_of),
                                       cmocka_unit_test(test_gives_back)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
