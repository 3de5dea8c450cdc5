/* SPDX-License-Identifier: Apache-2.0 */
/* test_report.c - log lines: hostile names, and limits of their number: ripd/app/report.c, log.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/log.h"
#include "app/report.h"
#include "os/clock.h"
#include "support/test.h"
#include "unit/event_samples.h"
#include "unit/log_capture.h"

#define SECOND_NS UINT64_C(1000000000)

TEST(notices, log_capture_begin, log_capture_end)
{
    struct report_notices notices = {.work = work_new()};

    report_budget_init(&notices.budget, 0);
    report_notice(&notices, 0, NOTICE_RING_FOUND, "checkout", NULL);
    report_notice(&notices, 0, NOTICE_RING_DAMAGED, "a\n\x1b[2Jb\"", "was cut short");
    assert_string_equal(logged(), "ripd: info: ring found name=\"checkout\"\n"
                                  "ripd: warning: ring damaged name=\"a\\x0a\\x1b[2Jb\\\"\" "
                                  "reason=\"was cut short\"\n");
    for (enum registry_notice_kind kind = 0; kind <= NOTICE_LIMIT; kind++) {
        report_notice(&notices, kind < NOTICE_DIRECTORY_MISSING ? 0 : MAPPING_NOBODY, kind, "x", "y");
        assert_int_equal(count_lines(logged()), 1);
    }
    work_free(notices.work);
}

/* A user's flood of notices leaves those of other users in the log. */
TEST(notices_are_limited_by_user, log_capture_begin, log_capture_end)
{
    struct report_notices notices = {.work = work_new()};

    report_budget_init(&notices.budget, clock_mono_ns());
    for (int i = 0; i < 5000; i++)
        report_notice(&notices, 1000, NOTICE_RING_FOUND, "flood", NULL);
    assert_int_equal(count_lines(logged()), 1000 + 1); /* one for those left out */
    report_notice(&notices, 1001, NOTICE_RING_DAMAGED, "theirs", "was cut short");
    report_notice(&notices, MAPPING_NOBODY, NOTICE_DIRECTORY_MISSING, "/run/librip", NULL);
    assert_int_equal(count_lines(logged()), 2);
    work_leak(notices.work, WORK_NOTICES, WORK_NOTICES_PER_SCAN);
    for (int i = 0; i < 100; i++)
        report_notice(&notices, 1000, NOTICE_RING_FOUND, "flood", NULL);
    assert_int_equal(count_lines(logged()), WORK_NOTICES_PER_SCAN);
    work_free(notices.work);
}

TEST(a_flood, log_capture_begin, log_capture_end)
{
    struct report_budget budget;
    uint64_t now_ns = 5 * SECOND_NS, missed = log_missed_count();
    size_t taken_count = 0;

    report_budget_init(&budget, now_ns);
    for (int i = 0; i < 8000; i++)
        taken_count += report_budget_take(&budget, now_ns, "notices");
    assert_int_equal(taken_count, REPORT_BURST);
    assert_non_null(strstr(logged(), "too many notices to log: left_out=1\n"));
    assert_int_equal(log_missed_count() - missed, 7000);
    taken_count = 0;
    for (int i = 0; i < 100; i++) {
        now_ns += SECOND_NS;
        for (int j = 0; j < 8000; j++)
            taken_count += report_budget_take(&budget, now_ns, "notices");
    }
    assert_int_equal(taken_count, 100 * REPORT_PER_SECOND);
    assert_in_range(count_lines(logged()), 9, 11);
    assert_true(report_budget_take(&budget, now_ns += 3600 * SECOND_NS, "notices"));
    assert_int_equal(budget.left_out.count, 0);
    assert_int_equal(report_budget_lines(&budget, now_ns), REPORT_BURST - 1);
    assert_int_equal(report_budget_lines(&budget, now_ns + 3600 * SECOND_NS), REPORT_BURST);
}

TEST(events, log_capture_begin, log_capture_end)
{
    struct event *begin = sample_begin_named(1, 7, "a\x7f", 2), *end = sample_end(2, begin), *bare = event_make();

    strcpy(begin->ring, "check\nout");
    report_event(begin);
    assert_logged("ripd: warning: stall begin episode=7 ring=\"check\\x0aout\" id=17 tid=4711 name=\"a\\x7f\" "
                  "cause=blocked frozen_for_ms=13800 module=\"checkout\" offset=0x1234 "
                  "summary=\"a\\x7f of checkout (pid 4690) has been blocked for 13.8 s at checkout+0x1234\"\n");
    report_event(end);
    assert_logged("reason=moved lasted_ms=20000 stalls=2 summary=\"a\\x7f of checkout (pid 4690) moved again, after "
                  "20.0 s at checkout+0x1234: blocked\"\n");
    begin->tid = 0; /* on no thread, at a place with a name and without a line */
    begin->file = strdup("db.c");
    begin->line = 0;
    report_event(begin);
    assert_logged(" id=17 tid=null name=\"a\\x7f\" cause=blocked frozen_for_ms=13800 module=\"checkout\" offset=0x1234 "
                  "file=\"db.c\" summary=");
    bare->episode = 8;
    report_event(bare);
    assert_string_equal(logged(), "ripd: warning: stall begin episode=8 cause=null frozen_for_ms=0\n");
    event_unref(begin);
    event_unref(end);
    event_unref(bare);
}

TEST(standard_error_is_not_read, log_capture_begin, log_capture_end)
{
    uint64_t missed = log_missed_count();
    const char *text;
    size_t lines;

    for (int i = 0; i < 100000; i++) /* does not block */
        log_line(LOG_LEVEL_WARNING, "line %d of very many", i);
    lines = count_lines(logged());
    assert_int_equal(log_missed_count() - missed + lines, 100000);
    log_line(LOG_LEVEL_WARNING, "heard again");
    text = logged();
    assert_non_null(strstr(text, "log lines lost, standard error was not read: count="));
    assert_non_null(strstr(text, "ripd: warning: heard again\n"));
    log_line(LOG_LEVEL_WARNING, "and again");
    assert_string_equal(logged(), "ripd: warning: and again\n");
}

TEST(the_longest_line_is_one_line, log_capture_begin, log_capture_end)
{
    char *long_text = malloc(10000);

    memset(long_text, 'x', 9999);
    long_text[9999] = '\0';
    log_line(LOG_LEVEL_ERROR, "%s", long_text);
    assert_int_equal(count_lines(logged()), 1);
    free(long_text);
}

/* Twenty per second for two minutes, and a last one: a line per minute, with the count since the previous one. */
TEST(one_line_per_minute)
{
    struct report_pace pace = {.count = 0};
    uint64_t now_ns = SECOND_NS, lines = 0, sum = 0;

    assert_int_equal(report_due(&pace, now_ns, 0, 60 * SECOND_NS), 0);
    for (unsigned i = 0; i <= 2400; i++, now_ns += SECOND_NS / 20) {
        const uint64_t due = report_due(&pace, now_ns, 1, 60 * SECOND_NS);

        sum += due;
        lines += due != 0;
    }
    assert_int_equal(sum, 2401);
    assert_int_equal(lines, 3);
    assert_int_equal(report_due(&pace, now_ns, 1, 60 * SECOND_NS), 0);
    assert_int_equal(report_due(&pace, now_ns + 60 * SECOND_NS, 0, 60 * SECOND_NS), 1);
}
