/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_load.c - what the files of a history come to: ripd/record/event_load.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/event_history.h"
#include "record/event_line.h"
#include "record/event_load.h"
#include "unit/event_samples.h"
#include "unit/state_directory.h"

static void take(struct event_load *load, const struct event_line *line)
{
    size_t length;
    char *text;

    assert_int_equal(event_line_format(line, &text, &length), 0);
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

static void test_open_and_closed(void **state)
{
    struct event_load load = {0};
    struct event_line again = {.kind = EVENT_LINE_SUBJECT, .subject = {.episode = 2, .stall_count = 2, .progress = 5}};

    (void)state;
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

/* The next file tells what was open before it: more than its own lines do, and less than damaged ones before it. */
static void test_carried(void **state)
{
    struct event_load load = {0};

    (void)state;
    take_begin(&load, EVENT_LINE_EVENT, 8, 4); /* its end was in a line that was damaged */
    take_head(&load, 20, 9);
    take_begin(&load, EVENT_LINE_CARRIED, 3, 2);
    take_begin(&load, EVENT_LINE_CARRIED, 19, 9);
    take_begin(&load, EVENT_LINE_EVENT, 21, 10);
    assert_int_equal(load.open.count, 3);
    assert_int_equal(load.open.episodes[0].subject.episode, 2);
    assert_int_equal(load.event_count, 2); /* what is carried is not told again */
    assert_int_equal(load.sequence, 21);
    assert_int_equal(load.episode, 10);
    event_load_done(&load);
}

static void test_what_does_not_fit(void **state)
{
    struct event_load load = {0};

    (void)state;
    take_begin(&load, EVENT_LINE_EVENT, 5, 3);
    take_begin(&load, EVENT_LINE_EVENT, 5, 4); /* a number twice */
    take_end(&load, 4, 3);                     /* one that went by */
    take_end(&load, 6, 99);                    /* an end of nothing is told all the same */
    assert_int_equal(event_load_line(&load, "", 0), 0);
    assert_int_equal(event_load_line(&load, "{\"event\":", 9), 0);
    assert_int_equal(load.damaged_count, 4);
    assert_int_equal(load.event_count, 2);
    assert_int_equal(load.open.count, 1);
    assert_int_equal(load.sequence, 6);
    event_load_done(&load);
}

static void test_newest_are_kept(void **state)
{
    struct event_load load = {0};
    const uint64_t count = 2 * EVENT_HISTORY_KEPT_MAX + 100;

    (void)state;
    for (uint64_t i = 1; i <= count; i += 2) {
        take_begin(&load, EVENT_LINE_EVENT, i, i);
        take_end(&load, i + 1, i);
    }
    assert_in_range(load.event_count - load.dropped_count, 1, EVENT_HISTORY_KEPT_MAX);
    assert_true(load.bytes <= EVENT_HISTORY_KEPT_BYTES_MAX);
    for (size_t i = load.dropped_count; i < load.event_count; i++)
        assert_int_equal(load.events[i]->sequence, count - (load.event_count - 1 - i));
    assert_int_equal(load.open.count, 0);
    event_load_done(&load);
}

static void load_both(struct state_directory *directory, struct event_load *load, bool *ret_torn,
                      char ret_aside[EVENT_FILE_ASIDE_BYTES])
{
    struct event_file file;
    char *error = NULL;

    assert_int_equal(event_file_open(&file, directory->path, &error), 0);
    assert_int_equal(event_load_files(load, &file, ret_torn, ret_aside), 0);
    event_file_close(&file);
}

static void test_files(void **state)
{
    static const char head[] =
        "{\"history\":{\"schema\":\"ripd/history/1\",\"epoch\":\"4d\",\"sequence\":7,\"episode\":2}}\n";
    char aside[EVENT_FILE_ASIDE_BYTES], text[sizeof(head) + 8];
    struct event_load load = {0};
    struct stat status;
    bool torn;

    load_both(*state, &load, &torn, aside);
    assert_int_equal(load.line_count, 0);
    assert_false(torn);
    snprintf(text, sizeof(text), "%storn", head);
    state_write(*state, EVENT_FILE_NAME, text, strlen(text));
    load_both(*state, &load, &torn, aside);
    assert_true(torn);
    assert_string_equal(aside, "");
    assert_int_equal(load.sequence, 7);
    assert_int_equal(stat(state_path(*state, EVENT_FILE_NAME), &status), 0);
    assert_int_equal(status.st_size, strlen(head));
    event_load_done(&load);

    state_write(*state, EVENT_FILE_OLDER_NAME, "no line, and no end of one", 26);
    load_both(*state, &load, &torn, aside);
    assert_string_equal(aside, EVENT_FILE_OLDER_NAME ".damaged");
    assert_int_equal(load.sequence, 7);
    assert_int_equal(load.damaged_count, 0);
    event_load_done(&load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_and_closed),
        cmocka_unit_test(test_carried),
        cmocka_unit_test(test_what_does_not_fit),
        cmocka_unit_test(test_newest_are_kept),
        cmocka_unit_test_setup_teardown(test_files, state_directory_set_up, state_directory_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
