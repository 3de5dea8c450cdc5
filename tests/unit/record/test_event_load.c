/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_load.c - what the files of a history come to: ripd/record/event_load.c. */
#include "record/event_load.h"
#include "support/test.h"
#include "unit/event_samples.h"

static void take(struct event_load *load, const struct event_line *line)
{
    size_t length;
    char *text;

    assert_int_equal(event_line_format(line, 1, &text, &length), 0);
    assert_int_equal(event_load_line(load, text, length - 1), 0);
    free(text);
}

static void take_begin(struct event_load *load, enum event_line_kind kind, uint64_t sequence, uint64_t episode)
{
    struct event_line line = {.kind = kind, .event = sample_begin(sequence, episode)};

    line.subject.episode = episode;
    line.subject.stall_count = 1;
    take(load, &line);
    event_unref(line.event);
}

static void take_end(struct event_load *load, uint64_t sequence, uint64_t episode)
{
    struct event *begin = sample_begin(1, episode);
    struct event_line line = {.kind = EVENT_LINE_EVENT, .event = sample_end(sequence, begin)};

    take(load, &line);
    event_unref(line.event);
    event_unref(begin);
}

static void take_head(struct event_load *load, uint64_t sequence, uint64_t episode)
{
    take(load, &(struct event_line){.kind = EVENT_LINE_HISTORY, .epoch = 77, .sequence = sequence, .episode = episode});
}

TEST(open_and_closed)
{
    struct event_load load = {0};
    struct event_line again = {.kind = EVENT_LINE_SUBJECT, .subject = {.episode = 2, .stall_count = 2, .progress = 5}};

    take_head(&load, 0, 0);
    for (uint64_t i = 1; i <= 3; i++)
        take_begin(&load, EVENT_LINE_EVENT, i, i);
    take_end(&load, 4, 1);
    take(&load, &again);
    again.subject.episode = 1; /* it has ended: without effect */
    take(&load, &again);
    assert_int_equal(load.epoch, 77);
    assert_int_equal(load.sequence, 4);
    assert_int_equal(load.episode, 3);
    assert_int_equal(load.event_count, 4);
    assert_int_equal(load.open.count, 2);
    assert_int_equal(load.open.episodes[0].subject.progress, 5);
    assert_int_equal(load.open.episodes[0].subject.stall_count, 2);
    assert_int_equal(load.damaged_count, 0);
    event_load_done(&load);
}

/* The next file has what was open before it: more than its own lines do, and less than damaged ones before it. */
TEST(carried)
{
    struct event_load load = {0};

    take_begin(&load, EVENT_LINE_EVENT, 8, 4); /* its end was in a line that was damaged */
    take_head(&load, 20, 9);
    take_begin(&load, EVENT_LINE_CARRIED, 3, 2);
    take_begin(&load, EVENT_LINE_CARRIED, 19, 9);
    take_begin(&load, EVENT_LINE_EVENT, 21, 10);
    assert_int_equal(load.open.count, 3);
    assert_int_equal(load.open.episodes[0].subject.episode, 2);
    assert_int_equal(load.event_count, 2); /* what is carried is not reported again */
    assert_int_equal(load.sequence, 21);
    assert_int_equal(load.episode, 10);
    event_load_done(&load);
}

TEST(what_does_not_fit)
{
    struct event_load load = {0};

    take_begin(&load, EVENT_LINE_EVENT, 5, 3);
    take_begin(&load, EVENT_LINE_EVENT, 5, 4); /* a number twice */
    take_end(&load, 4, 3);                     /* one that went by */
    take_end(&load, 6, 99);                    /* an end of nothing is reported all the same */
    assert_int_equal(event_load_line(&load, "", 0), 0);
    assert_int_equal(event_load_line(&load, "{\"event\":", 9), 0);
    assert_int_equal(load.damaged_count, 4);
    assert_int_equal(load.event_count, 2);
    assert_int_equal(load.open.count, 1);
    assert_int_equal(load.sequence, 6);
    event_load_done(&load);
}

TEST(newest_are_kept)
{
    struct event_load load = {0};
    const uint64_t count = 2 * EVENT_HISTORY_KEPT_MAX + 100;

    for (uint64_t i = 1; i <= count; i += 2) {
        take_begin(&load, EVENT_LINE_EVENT, i, i);
        take_end(&load, i + 1, i);
    }
    assert_int_equal(load.event_count, EVENT_HISTORY_KEPT_MAX);
    for (size_t i = 0; i < load.event_count; i++)
        assert_int_equal(load.events[i]->sequence, count - (load.event_count - 1 - i));
    assert_int_equal(load.open.count, 0);
    event_load_done(&load);
}

/* Open episodes ---------------------------------------------------------------------------------------------------- */

static void add(struct event_open_set *set, uint64_t sequence, uint64_t episode)
{
    struct event *event = sample_begin(sequence, episode);
    struct event_subject subject = {.episode = episode};

    assert_int_equal(event_open_add(set, event, &subject), 0);
    assert_int_equal(event_open_add(set, event, &subject), 0); /* once */
    event_unref(event);
}

TEST(in_any_order)
{
    static const uint64_t episodes[] = {5, 9, 1, 7, 3};
    struct event_open_set set = {0};

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

/* So many, the first of that episode. */
static void assert_lines(const struct event_open_set *set, uint64_t sequence, uint64_t first, size_t expected)
{
    struct event_line *lines;
    size_t count;

    assert_int_equal(event_open_lines(set, sequence, &lines, &count), 0);
    assert_int_equal(count, 1 + expected);
    assert_int_equal(lines[1].subject.episode, first);
    for (size_t i = 0; i < count; i++)
        event_unref(lines[i].event);
    free(lines);
}

/* What was open behind a certain event, though more has happened since. */
TEST(as_of)
{
    struct event_open_set set = {0};

    for (uint64_t i = 1; i <= 6; i++)
        add(&set, i, i);
    event_open_find(&set, 1)->end_sequence = 7;
    event_open_find(&set, 2)->end_sequence = 9;
    assert_lines(&set, 5, 1, 5); /* the sixth had not begun, nobody had ended */
    assert_lines(&set, 8, 2, 5);
    event_open_forget(&set, 8);
    assert_int_equal(set.count, 5);
    assert_null(event_open_find(&set, 1));
    assert_non_null(event_open_find(&set, 2));
    event_open_done(&set);
}

/* Its memory goes with what it holds. */
TEST(gives_back)
{
    struct event_open_set set = {0};

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
