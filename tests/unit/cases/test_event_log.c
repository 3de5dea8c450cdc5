/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_event_log.c - episodes: hysteresis, limits, tags, and that no reported begin is left without its end.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cases/event_log.h"

#define HYSTERESIS 100u
#define NONE 0u

static struct event_log *log_new(size_t limit)
{
    struct event_log *log = NULL;

    assert_int_equal(event_log_new(&log, HYSTERESIS, limit, &(struct hash_key){{0, 0}}), 0);
    return log;
}

static struct detector_event event(enum detector_event_kind kind, uint32_t slot)
{
    return (struct detector_event){
        .kind = kind, .ring = 1, .slot = slot, .generation = 2, .cause = CAUSE_BLOCKED, .frozen_for_ns = 50};
}

/* A step with one event, or none if slot is NONE. Returns how many reports; the first is *ret_report. */
static int step(struct event_log *log, uint64_t now, enum detector_event_kind kind, uint32_t slot,
                struct report *ret_report)
{
    const struct detector_event one = event(kind, slot);
    const struct report *reports = NULL;
    int count = event_log_step(log, now, &one, slot == NONE ? 0 : 1, &reports);

    if (count > 0)
        *ret_report = reports[0];
    return count;
}

static void a_begin_is_reported_at_once_and_an_end_after_the_hysteresis(void **context)
{
    struct event_log *log = log_new(10);
    struct report report;

    (void)context;
    assert_int_equal(step(log, 1000, DETECTOR_STALLED, 7, &report), 1);
    assert_int_equal(report.kind, REPORT_BEGIN);
    assert_int_equal(report.slot, 7);
    assert_int_equal(report.at_mono_ns, 1000);
    assert_int_equal(report.episode, 1);
    assert_int_equal(report.cause, CAUSE_BLOCKED);
    assert_int_equal(step(log, 1200, DETECTOR_MOVED, 7, &report), 0);
    assert_int_equal(event_log_open_count(log), 1);
    assert_int_equal(step(log, 1299, 0, NONE, &report), 0);
    assert_int_equal(step(log, 1300, 0, NONE, &report), 1);
    assert_int_equal(report.kind, REPORT_END);
    assert_int_equal(report.reason, DETECTOR_MOVED);
    assert_int_equal(report.at_mono_ns, 1200);
    assert_int_equal(report.lasted_ns, 250); /* from 950 */
    assert_int_equal(report.stall_count, 1);
    assert_int_equal(report.episode, 1);
    assert_int_equal(event_log_open_count(log), 0);
    assert_int_equal(step(log, 9999, 0, NONE, &report), 0);
    event_log_free(log, NULL);
}

static void a_stall_within_the_hysteresis_belongs_to_the_episode(void **context)
{
    struct event_log *log = log_new(10);
    struct report report;
    uint64_t now = 1000;

    (void)context;
    assert_int_equal(step(log, now, DETECTOR_STALLED, 7, &report), 1);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(step(log, now += 50, i % 2 ? DETECTOR_STOPPED : DETECTOR_MOVED, 7, &report), 0);
        assert_int_equal(step(log, now += 100, DETECTOR_STALLED, 7, &report), 0);
    }
    assert_int_equal(step(log, now += 50, DETECTOR_STOPPED, 7, &report), 0);
    assert_int_equal(step(log, now + 100, 0, NONE, &report), 1);
    assert_int_equal(report.stall_count, 21);
    assert_int_equal(report.reason, DETECTOR_STOPPED);
    assert_int_equal(report.at_mono_ns, now);
    assert_int_equal(report.lasted_ns, now - 950);
    assert_int_equal(step(log, now + 500, DETECTOR_STALLED, 7, &report), 1); /* after it: another episode */
    assert_int_equal(report.episode, 2);
    event_log_free(log, NULL);
}

static void gone_ends_at_once(void **context)
{
    struct event_log *log = log_new(10);
    struct report report;

    (void)context;
    assert_int_equal(step(log, 1000, DETECTOR_STALLED, 7, &report), 1);
    assert_int_equal(step(log, 1500, DETECTOR_GONE, 7, &report), 1);
    assert_int_equal(report.kind, REPORT_END);
    assert_int_equal(report.reason, DETECTOR_GONE);
    assert_int_equal(report.at_mono_ns, 1500);
    assert_int_equal(step(log, 1600, DETECTOR_GONE, 7, &report), 0);
    assert_int_equal(step(log, 2000, DETECTOR_STALLED, 8, &report), 1); /* stopped first, then gone */
    assert_int_equal(step(log, 2010, DETECTOR_STOPPED, 8, &report), 0);
    assert_int_equal(step(log, 2020, DETECTOR_GONE, 8, &report), 1);
    assert_int_equal(report.reason, DETECTOR_STOPPED);
    assert_int_equal(report.at_mono_ns, 2010);
    event_log_free(log, NULL);
}

static void slots_generations_and_rings_are_told_apart(void **context)
{
    struct event_log *log = log_new(10);
    struct detector_event events[4] = {event(DETECTOR_STALLED, 7), event(DETECTOR_STALLED, 7),
                                       event(DETECTOR_STALLED, 7), event(DETECTOR_STALLED, 8)};
    const struct report *reports;

    (void)context;
    events[1].generation = 4;
    events[2].ring = 9;
    assert_int_equal(event_log_step(log, 1000, events, 4, &reports), 4);
    assert_int_equal(event_log_open_count(log), 4);
    events[1].kind = DETECTOR_GONE;
    assert_int_equal(event_log_step(log, 1001, &events[1], 1, &reports), 1);
    assert_int_equal(reports[0].generation, 4);
    assert_int_equal(reports[0].episode, 2);
    event_log_free(log, NULL);
}

static void the_limit_suppresses_begins_and_counts_them(void **context)
{
    struct event_log *log = log_new(10);
    struct detector_event events[100];
    const struct report *reports;
    bool begun[100] = {false};

    (void)context;
    for (uint32_t i = 0; i < 100; i++)
        events[i] = event(DETECTOR_STALLED, i);
    assert_int_equal(event_log_step(log, 1000, events, 100, &reports), 10);
    for (int i = 0; i < 10; i++)
        begun[reports[i].slot] = true;
    assert_int_equal(event_log_suppressed_count(log), 90);
    assert_int_equal(event_log_open_count(log), 100);
    for (uint32_t i = 0; i < 100; i++)
        events[i].kind = i % 2 ? DETECTOR_GONE : DETECTOR_MOVED;
    assert_int_equal(event_log_step(log, 1010, events, 100, &reports), 5); /* of those that were reported */
    assert_int_equal(event_log_step(log, 1110, NULL, 0, &reports), 5);
    for (int i = 0; i < 5; i++)
        assert_true(begun[reports[i].slot]);
    assert_int_equal(event_log_open_count(log), 0);
    assert_int_equal(event_log_suppressed_count(log), 90);
    event_log_free(log, NULL);
}

static void the_limit_delays_ends_but_loses_none(void **context)
{
    struct event_log *log = log_new(10);
    struct detector_event events[40];
    const struct report *reports;
    int ended[40] = {0};

    (void)context;
    for (uint32_t first = 0; first < 40; first += 10) {
        for (uint32_t i = 0; i < 10; i++)
            events[i] = event(DETECTOR_STALLED, first + i);
        assert_int_equal(event_log_step(log, 1000 + first, events, 10, &reports), 10);
    }
    for (uint32_t i = 0; i < 40; i++)
        events[i] = event(DETECTOR_GONE, i);
    for (int round = 0; round < 4; round++) {
        assert_int_equal(event_log_step(log, 2000, events, round ? 0 : 40, &reports), 10);
        for (int i = 0; i < 10; i++) {
            assert_int_equal(reports[i].kind, REPORT_END);
            assert_int_equal(reports[i].at_mono_ns, 2000);
            ended[reports[i].slot]++;
        }
    }
    assert_int_equal(event_log_step(log, 2000, NULL, 0, &reports), 0);
    for (int i = 0; i < 40; i++)
        assert_int_equal(ended[i], 1);
    assert_int_equal(event_log_suppressed_count(log), 0);
    event_log_free(log, NULL);
}

/* An id that stalls again while the end of its last episode is still owed begins a new one. */
static void an_owed_end_does_not_swallow_a_new_stall(void **context)
{
    struct event_log *log = log_new(1);
    struct detector_event events[2] = {event(DETECTOR_GONE, 1), event(DETECTOR_GONE, 2)};
    const struct report *reports;
    struct report report;

    (void)context;
    assert_int_equal(step(log, 1000, DETECTOR_STALLED, 1, &report), 1);
    assert_int_equal(step(log, 1001, DETECTOR_STALLED, 2, &report), 1);
    assert_int_equal(event_log_step(log, 1002, events, 2, &reports), 1);
    assert_int_equal(step(log, 1003, DETECTOR_STALLED, 2, &report), 1);
    assert_int_equal(report.kind, REPORT_END); /* what is owed goes first */
    assert_int_equal(report.slot, 2);
    assert_int_equal(event_log_suppressed_count(log), 1);
    assert_int_equal(event_log_open_count(log), 1);
    event_log_free(log, NULL);
}

static void begun_and_ended_in_one_step_is_suppressed(void **context)
{
    struct event_log *log = log_new(10);
    struct detector_event events[4] = {event(DETECTOR_STALLED, 1), event(DETECTOR_GONE, 1), event(DETECTOR_STALLED, 2),
                                       event(DETECTOR_MOVED, 2)};
    const struct report *reports;

    (void)context;
    assert_int_equal(event_log_step(log, 1000, events, 4, &reports), 0);
    assert_int_equal(event_log_suppressed_count(log), 2);
    assert_int_equal(event_log_step(log, 2000, NULL, 0, &reports), 0);
    assert_int_equal(event_log_open_count(log), 0);
    event_log_free(log, NULL);
}

static int released;

static void release(void *tag)
{
    released++;
    free(tag);
}

static void a_tag_comes_back_once(void **context)
{
    struct event_log *log = log_new(2);
    struct report report;
    char *tag = malloc(1), *second = malloc(1), *third = malloc(1);

    (void)context;
    released = 0;
    assert_int_equal(event_log_tag(log, 1, 7, 2, tag), -ENOENT);
    assert_int_equal(step(log, 1000, DETECTOR_STALLED, 7, &report), 1);
    assert_null(report.tag);
    assert_int_equal(event_log_tag(log, 1, 7, 4, tag), -ENOENT);
    assert_int_equal(event_log_tag(log, 1, 7, 2, tag), 0);
    assert_int_equal(event_log_tag(log, 1, 7, 2, second), -EEXIST);
    assert_int_equal(step(log, 1100, DETECTOR_GONE, 7, &report), 1);
    assert_ptr_equal(report.tag, tag);
    free(tag);
    assert_int_equal(step(log, 1200, DETECTOR_STALLED, 8, &report), 1);
    assert_int_equal(step(log, 1201, DETECTOR_STALLED, 9, &report), 1);
    assert_int_equal(event_log_tag(log, 1, 8, 2, second), 0);
    assert_int_equal(event_log_tag(log, 1, 9, 2, third), 0);
    assert_int_equal(step(log, 1202, DETECTOR_MOVED, 9, &report), 0);
    event_log_free(log, release);
    assert_int_equal(released, 2);
}

/* A random life of many ids: every begin has one end, in order, and nothing is left over. */
static void begins_and_ends_are_paired(void **context)
{
    struct event_log *log = log_new(7);
    uint64_t begun[64] = {0}, last = 0, now = 0, random = 1;
    bool stalled[64] = {false};
    const struct report *reports;

    (void)context;
    for (int round = 0; round < 20000; round++) {
        struct detector_event events[64];
        size_t count = 0;
        int reported;

        now += 10;
        for (uint32_t i = 0; i < 64; i++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            if ((random >> 60) != 0 && round < 19900)
                continue;
            if (round >= 19900 && !stalled[i])
                continue;
            events[count++] =
                event(stalled[i] ? (enum detector_event_kind)(1 + (random >> 50) % 3) : DETECTOR_STALLED, i);
            stalled[i] = !stalled[i];
        }
        reported = event_log_step(log, now, events, count, &reports);
        assert_true(reported >= 0 && reported <= 7);
        for (int i = 0; i < reported; i++) {
            uint64_t *open = &begun[reports[i].slot];

            if (reports[i].kind == REPORT_BEGIN) {
                assert_int_equal(*open, 0);
                assert_int_equal(reports[i].episode, ++last);
                *open = reports[i].episode;
            } else if (reports[i].episode == *open) {
                *open = 0;
            } else {
                fail_msg("an end of episode %d without its begin", (int)reports[i].episode);
            }
        }
    }
    for (int i = 0; i < 64; i++)
        assert_int_equal(begun[i], 0);
    assert_int_equal(event_log_open_count(log), 0);
    assert_true(event_log_suppressed_count(log) > 0);
    event_log_free(log, NULL);
}

static void many_episodes_at_once(void **context)
{
    const uint32_t count = 200000;
    struct detector_event *events = calloc(count, sizeof *events);
    struct event_log *log = log_new(16);
    const struct report *reports;

    (void)context;
    for (uint32_t i = 0; i < count; i++)
        events[i] = event(DETECTOR_STALLED, i);
    event_log_step(log, 1000, events, count, &reports);
    assert_int_equal(event_log_open_count(log), count);
    for (uint32_t i = 0; i < count; i++)
        events[i].kind = DETECTOR_GONE;
    event_log_step(log, 1001, events, count, &reports);
    assert_int_equal(event_log_open_count(log), 0);
    event_log_free(log, NULL);
    free(events);
}

/* Stalls of one ring that last and last, a few more on each step; then one of another ring. */
static void what_lasts_is_limited_too(void **context)
{
    struct event_log *log = log_new(1000);
    struct detector_event events[1000];
    const struct report *reports;
    uint64_t reported = 0;

    (void)context;
    for (uint32_t step = 0; step < 2 * EVENT_LOG_TOLD_MAX / 1000; step++) {
        for (uint32_t i = 0; i < 1000; i++)
            events[i] = event(DETECTOR_STALLED, 1000 * step + i);
        reported += (uint64_t)event_log_step(log, 1000, events, 1000, &reports);
    }
    assert_int_equal(reported, EVENT_LOG_TOLD_MAX / 2);
    assert_int_equal(event_log_suppressed_count(log), 2 * EVENT_LOG_TOLD_MAX / 1000 * 1000 - reported);
    events[0].ring = 9;
    assert_int_equal(event_log_step(log, 1001, events, 1, &reports), 1);
    assert_int_equal(reports[0].ring, 9);
    events[0] = event(DETECTOR_STALLED, UINT32_MAX);
    assert_int_equal(event_log_step(log, 1002, events, 1, &reports), 0); /* the first has no more room, */
    events[0] = event(DETECTOR_GONE, 0);
    assert_int_equal(event_log_step(log, 1003, events, 1, &reports), 1); /* until one of its own is over */
    events[0] = event(DETECTOR_STALLED, UINT32_MAX - 1);
    assert_int_equal(event_log_step(log, 1004, events, 1, &reports), 1);
    event_log_free(log, NULL);
}

/* Two rings of a hundred stalls each, and one of a single one. */
static void no_ring_takes_all_the_room(void **context)
{
    struct event_log *log = log_new(20);
    struct detector_event events[201];
    const struct report *reports;
    size_t begun[4] = {0};

    (void)context;
    for (uint32_t i = 0; i < 201; i++) {
        events[i] = event(DETECTOR_STALLED, i);
        events[i].ring = 1 + i / 100;
    }
    assert_int_equal(event_log_step(log, 1000, events, 201, &reports), 13);
    for (int i = 0; i < 13; i++)
        begun[reports[i].ring]++;
    assert_int_equal(begun[1], 6);
    assert_int_equal(begun[2], 6);
    assert_int_equal(begun[3], 1);
    assert_int_equal(event_log_suppressed_count(log), 188);
    event_log_free(log, NULL);
}

static void the_limit_can_be_lowered(void **context)
{
    struct event_log *log = log_new(3);
    const struct detector_event events[] = {event(DETECTOR_STALLED, 1), event(DETECTOR_STALLED, 2)};
    const struct report *reports;
    struct report report;

    (void)context;
    event_log_set_limit(log, 0);
    assert_int_equal(step(log, 1000, DETECTOR_STALLED, 9, &report), 0);
    event_log_set_limit(log, 1);
    assert_int_equal(event_log_step(log, 1000, events, 2, &reports), 1);
    assert_int_equal(event_log_suppressed_count(log), 2);
    event_log_set_limit(log, 1000); /* but never above what it was made for */
    for (uint32_t i = 10; i < 14; i++) {
        const struct detector_event four[] = {event(DETECTOR_STALLED, 4 * i), event(DETECTOR_STALLED, 4 * i + 1),
                                              event(DETECTOR_STALLED, 4 * i + 2), event(DETECTOR_STALLED, 4 * i + 3)};

        assert_int_equal(event_log_step(log, 1000, four, 4, &reports), 3);
    }
    event_log_free(log, NULL);
}

static void a_begin_tells_what_is_needed_to_take_it_up_again(void **context)
{
    struct event_log *log = log_new(10);
    struct detector_event one = event(DETECTOR_STALLED, 7);
    const struct report *reports;

    (void)context;
    one.progress = 918273;
    one.moved_after_mono_ns = 940;
    assert_int_equal(event_log_step(log, 1000, &one, 1, &reports), 1);
    assert_int_equal(reports[0].progress, 918273);
    assert_int_equal(reports[0].moved_after_mono_ns, 940);
    assert_int_equal(reports[0].at_mono_ns - reports[0].lasted_ns, 950);
    event_log_free(log, NULL);
}

static const struct episode_adoption adopted = {.ring = 1,
                                                .slot = 7,
                                                .generation = 2,
                                                .cause = CAUSE_BLOCKED,
                                                .episode = 41,
                                                .frozen_mono_ns = 300,
                                                .stall_count = 1};

static void an_adopted_episode_has_one_end_and_no_second_begin(void **context)
{
    struct event_log *log = log_new(10);
    struct report report;
    int tag;

    (void)context;
    assert_int_equal(event_log_adopt(log, &adopted), 0);
    assert_int_equal(event_log_adopt(log, &adopted), -EEXIST);
    assert_int_equal(event_log_tag(log, 1, 7, 2, &tag), 0);
    assert_int_equal(event_log_open_count(log), 1);
    assert_int_equal(step(log, 1000, DETECTOR_STALLED, 7, &report), 0); /* begun it has */
    assert_int_equal(step(log, 1100, DETECTOR_STALLED, 8, &report), 1); /* another one: a higher number */
    assert_int_equal(report.episode, 42);
    assert_int_equal(step(log, 1200, DETECTOR_MOVED, 7, &report), 0);
    assert_int_equal(step(log, 1200 + HYSTERESIS, DETECTOR_MOVED, NONE, &report), 1);
    assert_int_equal(report.kind, REPORT_END);
    assert_int_equal(report.episode, 41);
    assert_int_equal(report.slot, 7);
    assert_int_equal(report.at_mono_ns, 1200);
    assert_int_equal(report.lasted_ns, 900);
    assert_int_equal(report.stall_count, 1);
    assert_ptr_equal(report.tag, &tag);
    assert_int_equal(step(log, 9000, DETECTOR_MOVED, 7, &report), 0);
    event_log_free(log, NULL);
}

static void an_adopted_episode_of_one_that_is_gone_ends_at_once(void **context)
{
    struct event_log *log = log_new(10);
    struct report report;

    (void)context;
    assert_int_equal(event_log_adopt(log, &adopted), 0);
    assert_int_equal(step(log, 1000, DETECTOR_GONE, 7, &report), 1);
    assert_int_equal(report.kind, REPORT_END);
    assert_int_equal(report.reason, DETECTOR_GONE);
    assert_int_equal(report.episode, 41);
    event_log_free(log, NULL);
}

static void numbers_go_on_where_they_were(void **context)
{
    struct event_log *log = log_new(10);
    struct report report;

    (void)context;
    event_log_set_next(log, 100);
    event_log_set_next(log, 50); /* never back */
    assert_int_equal(event_log_adopt(log, &adopted), 0);
    assert_int_equal(step(log, 1000, DETECTOR_STALLED, 8, &report), 1);
    assert_int_equal(report.episode, 100);
    event_log_free(log, NULL);
}

static void the_hysteresis_can_be_changed(void **context)
{
    struct event_log *log = log_new(10);
    struct report report;

    (void)context;
    step(log, 1000, DETECTOR_STALLED, 7, &report);
    step(log, 1000, DETECTOR_STALLED, 8, &report);
    step(log, 1100, DETECTOR_MOVED, 7, &report);
    event_log_set_hysteresis(log, 1000);
    assert_int_equal(step(log, 1100 + HYSTERESIS, DETECTOR_MOVED, 8, &report), 0);
    event_log_set_hysteresis(log, HYSTERESIS);
    assert_int_equal(step(log, 1150 + HYSTERESIS, DETECTOR_MOVED, NONE, &report), 1);
    assert_int_equal(report.slot, 7);
    event_log_free(log, NULL);
}

static void one_that_is_excused_ends_like_one_that_moved(void **context)
{
    struct event_log *log = log_new(10);
    struct report report;

    (void)context;
    step(log, 1000, DETECTOR_STALLED, 7, &report);
    assert_int_equal(step(log, 1100, DETECTOR_EXCUSED, 7, &report), 0);
    assert_int_equal(step(log, 1100 + HYSTERESIS, DETECTOR_MOVED, NONE, &report), 1);
    assert_int_equal(report.reason, DETECTOR_EXCUSED);
    assert_int_equal(report.at_mono_ns, 1100);
    event_log_free(log, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_begin_is_reported_at_once_and_an_end_after_the_hysteresis),
        cmocka_unit_test(a_stall_within_the_hysteresis_belongs_to_the_episode),
        cmocka_unit_test(gone_ends_at_once),
        cmocka_unit_test(slots_generations_and_rings_are_told_apart),
        cmocka_unit_test(the_limit_suppresses_begins_and_counts_them),
        cmocka_unit_test(the_limit_delays_ends_but_loses_none),
        cmocka_unit_test(an_owed_end_does_not_swallow_a_new_stall),
        cmocka_unit_test(begun_and_ended_in_one_step_is_suppressed),
        cmocka_unit_test(a_tag_comes_back_once),
        cmocka_unit_test(begins_and_ends_are_paired),
        cmocka_unit_test(what_lasts_is_limited_too),
        cmocka_unit_test(many_episodes_at_once),
        cmocka_unit_test(no_ring_takes_all_the_room),
        cmocka_unit_test(the_limit_can_be_lowered),
        cmocka_unit_test(a_begin_tells_what_is_needed_to_take_it_up_again),
        cmocka_unit_test(an_adopted_episode_has_one_end_and_no_second_begin),
        cmocka_unit_test(an_adopted_episode_of_one_that_is_gone_ends_at_once),
        cmocka_unit_test(numbers_go_on_where_they_were),
        cmocka_unit_test(the_hysteresis_can_be_changed),
        cmocka_unit_test(one_that_is_excused_ends_like_one_that_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
