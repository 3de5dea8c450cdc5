/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_load.c - the state that the lines of a history result in: ripd/record/event_load.c. */
#include "record/event_load.h"
#include "support/test.h"
#include "unit/event_samples.h"

/* The state after the lines that were loaded. */
static struct event_load load;

static int tear_down(void **state)
{
    (void)state;
    event_load_done(&load);
    load = (struct event_load){0};
    return 0;
}

static void load_line(const struct event_line *line)
{
    size_t length;
    char *text;

    assert_int_equal(event_line_format(line, 1, &text, &length), 0);
    assert_int_equal(event_load_line(&load, text, length - 1), 0);
    free(text);
}

static void load_begin_of_kind(enum event_line_kind kind, uint64_t sequence, uint64_t episode)
{
    const struct event_line line = {
        .kind = kind, .event = sample_begin(sequence, episode), .subject = {.episode = episode, .stall_count = 1}};

    load_line(&line);
    event_unref(line.event);
}

static void load_begin(uint64_t sequence, uint64_t episode)
{
    load_begin_of_kind(EVENT_LINE_EVENT, sequence, episode);
}

static void load_end(uint64_t sequence, uint64_t episode)
{
    struct event *begin = sample_begin(1, episode);
    const struct event_line line = {.kind = EVENT_LINE_EVENT, .event = sample_end(sequence, begin)};

    load_line(&line);
    event_unref(line.event);
    event_unref(begin);
}

static void load_head(uint64_t sequence, uint64_t episode)
{
    load_line(&(struct event_line){.kind = EVENT_LINE_HISTORY, .epoch = 77, .sequence = sequence, .episode = episode});
}

TEST(open_and_ended, NULL, tear_down)
{
    struct event_line again = {.kind = EVENT_LINE_SUBJECT, .subject = {.episode = 2, .stall_count = 2, .progress = 5}};

    load_head(0, 0);
    for (uint64_t i = 1; i <= 3; i++)
        load_begin(i, i);
    load_end(4, 1);
    load_line(&again);
    again.subject.episode = 1; /* has ended: no effect */
    load_line(&again);
    assert_int_equal(load.epoch, 77);
    assert_int_equal(load.sequence, 4);
    assert_int_equal(load.episode, 3);
    assert_int_equal(load.event_count, 4);
    assert_int_equal(load.open.count, 2);
    assert_int_equal(load.open.episodes[0].subject.progress, 5);
    assert_int_equal(load.open.episodes[0].subject.stall_count, 2);
    assert_int_equal(load.damaged_count, 0);
}

/*
 * The head of a file lists the open episodes. An episode of the earlier file that is not in the list has ended.
 */
TEST(carried, NULL, tear_down)
{
    load_begin(8, 4); /* the line of its end was damaged */
    load_head(20, 9);
    load_begin_of_kind(EVENT_LINE_CARRIED, 3, 2);
    load_begin_of_kind(EVENT_LINE_CARRIED, 19, 9);
    load_begin(21, 10);
    assert_int_equal(load.open.count, 3);
    assert_int_equal(load.open.episodes[0].subject.episode, 2);
    assert_int_equal(load.event_count, 2); /* carried events are not reported again */
    assert_int_equal(load.sequence, 21);
    assert_int_equal(load.episode, 10);
}

TEST(damaged_lines, NULL, tear_down)
{
    load_begin(5, 3);
    load_begin(5, 4); /* the same sequence */
    load_end(4, 3);   /* an earlier sequence */
    load_end(6, 99);  /* the end of an unknown episode is reported */
    assert_int_equal(event_load_line(&load, "", 0), 0);
    assert_int_equal(event_load_line(&load, "{\"event\":", 9), 0);
    assert_int_equal(load.damaged_count, 4);
    assert_int_equal(load.event_count, 2);
    assert_int_equal(load.open.count, 1);
    assert_int_equal(load.sequence, 6);
}

TEST(newest_are_kept, NULL, tear_down)
{
    const uint64_t count = 2 * EVENT_HISTORY_KEPT_MAX + 100;

    for (uint64_t i = 1; i <= count; i += 2) {
        load_begin(i, i);
        load_end(i + 1, i);
    }
    assert_int_equal(load.event_count, EVENT_HISTORY_KEPT_MAX);
    for (size_t i = 0; i < load.event_count; i++)
        assert_int_equal(load.events[i]->sequence, count - (load.event_count - 1 - i));
    assert_int_equal(load.open.count, 0);
}

/* Open episodes ---------------------------------------------------------------------------------------------------- */

static struct event_open_set set;

static int set_done(void **state)
{
    (void)state;
    event_open_done(&set);
    event_open_done(&set); /* can be repeated */
    return 0;
}

/* Adds an episode whose begin has its number. A second time has no effect. */
static void add(uint64_t episode)
{
    struct event *event = sample_begin(episode, episode);
    struct event_subject subject = {.episode = episode};

    assert_int_equal(event_open_add(&set, event, &subject), 0);
    assert_int_equal(event_open_add(&set, event, &subject), 0);
    event_unref(event);
}

static void add_up_to(uint64_t count)
{
    for (uint64_t i = 1; i <= count; i++)
        add(i);
}

TEST(in_any_order, NULL, set_done)
{
    static const uint64_t episodes[] = {5, 9, 1, 7, 3};

    for (size_t i = 0; i < COUNT_OF(episodes); i++)
        add(episodes[i]);
    for (size_t i = 0; i < COUNT_OF(episodes); i++)
        assert_int_equal(set.episodes[i].subject.episode, 1 + 2 * i);
    assert_null(event_open_find(&set, 4));
    assert_int_equal(event_open_find(&set, 7)->begin->episode, 7);
    event_open_remove(&set, 4);
    event_open_remove(&set, 5);
    assert_int_equal(set.count, 4);
    assert_null(event_open_find(&set, 5));
}

/* The head of a file as of this event has this number of lines of episodes, from this one on. */
static void assert_lines(uint64_t sequence, uint64_t first, size_t expected)
{
    struct event_line *lines;
    size_t count;

    assert_int_equal(event_open_lines(&set, sequence, &lines, &count), 0);
    assert_int_equal(count, 1 + expected);
    assert_int_equal(lines[1].subject.episode, first);
    for (size_t i = 0; i < count; i++)
        event_unref(lines[i].event);
    free(lines);
}

/* The episodes that were open after an event, although later events have happened. */
TEST(lines_as_of_an_event, NULL, set_done)
{
    add_up_to(6);
    event_open_find(&set, 1)->end_sequence = 7;
    event_open_find(&set, 2)->end_sequence = 9;
    assert_lines(5, 1, 5); /* the sixth had not begun, and none had ended */
    assert_lines(8, 2, 5);
    event_open_forget(&set, 8);
    assert_int_equal(set.count, 5);
    assert_null(event_open_find(&set, 1));
    assert_non_null(event_open_find(&set, 2));
}

TEST(memory_is_freed_with_episodes, NULL, set_done)
{
    add_up_to(5000);
    for (uint64_t i = 2501; i <= 5000; i++)
        event_open_find(&set, i)->end_sequence = 6000;
    event_open_forget(&set, 6000);
    assert_true(set.capacity < 4000);
    for (uint64_t i = 1; i <= 2500; i++)
        event_open_remove(&set, i);
    assert_int_equal(set.count, 0);
    assert_true(set.capacity < 1000);
}
