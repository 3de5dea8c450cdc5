/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_report_fields.c - fields of the journal, through a journal of our own and a standard error that is connected
 * with it: ripd/app/report.c, log.c.
 */
#include <errno.h>
#include <fcntl.h>

#include "app/log.h"
#include "app/report.h"
#include "support/test.h"
#include "unit/journal_test.h"

#define MS UINT64_C(1000000)

static char directory[] = "/tmp/ripd-journal-XXXXXX";
static char path[64];

#define X(name, meaning) +1
enum { FIELD_COUNT = REPORT_FIELD_TABLE(X) };
#undef X

/* Standard error is a pipe, and $JOURNAL_STREAM names it. */
struct scene {
    int listening;
    int saved;
    int reading;
    char text[65536];
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct stat facts;
    char stream[64];
    int ends[2];

    assert_non_null(scene);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(fstat(ends[1], &facts), 0);
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)facts.st_dev, (uintmax_t)facts.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    scene->saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    scene->reading = ends[0];
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/socket", directory);
    scene->listening = test_journal_listen(path);
    log_open_journal(path);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    log_close_journal();
    dup2(scene->saved, STDERR_FILENO);
    close(scene->saved);
    close(scene->reading);
    close(scene->listening);
    unlink(path);
    rmdir(directory);
    unsetenv("JOURNAL_STREAM");
    free(scene);
    return 0;
}

static void assert_stderr(struct scene *scene, const char *expected)
{
    ssize_t length = read(scene->reading, scene->text, sizeof(scene->text) - 1);

    scene->text[length < 0 ? 0 : length] = '\0';
    assert_string_equal(scene->text, expected);
}

static char module_name[] = "lib\n.so", function_name[] = "f\n<T>", file_name[] = "src/\x1b.c";
static char target[] = "/tmp/a\nb";
static char summary[] = "it is\nstuck", unit[] = "a.service", container[] = "web\n1";
static const struct event begin = {
    .kind = EVENT_BEGIN,
    .episode = 7,
    .incident = 5,
    .waiting_count = 19,
    .holder_bytes = 4,
    .holder = "ow\nn",
    .duration_ns = 5432 * MS,
    .cause = CAUSE_BLOCKED,
    .id = 17,
    .tid = 4711,
    .pid = 4690,
    .ring = "che\nck=out",
    .name_bytes = 30,
    .name = "x\nMESSAGE=evil\n\x1b[2J\xff\0\"\"\"\"\"\"\"\"",
    .note_bytes = 7,
    .note = "GET\n/\0\xff",
    .comm = "co\nmm",
    .module = module_name,
    .offset = 0x1234,
    .function = function_name,
    .file = file_name,
    .line = 120,
    .syscall = "flock",
    .target = target,
    .summary = summary,
    .unit = unit,
    .container = container,
};

TEST(begin, set_up, tear_down)
{
    struct scene *scene = *state;
    struct test_entry entry;

    report_event(&begin);
    assert_true(test_journal_receive(scene->listening, &entry));
    assert_int_equal(entry.count, 4 + FIELD_COUNT - 2);
    assert_field(&entry, "MESSAGE",
                 "stall begin episode=7 incident=5 ring=\"che\\x0ack=out\" id=17 tid=4711 "
                 "name=\"x\\x0aMESSAGE=evil\\x0a\\x1b[2J\\xff\\x00\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\x00\" "
                 "cause=blocked frozen_for_ms=5432 note=\"GET\\x0a/\\x00\\xff\" module=\"lib\\x0a.so\" offset=0x1234 "
                 "function=\"f\\x0a<T>\" file=\"src/\\x1b.c\" line=120 "
                 "syscall=flock target=\"/tmp/a\\x0ab\" waits_for=\"ow\\x0an\" waiting_count=19 "
                 "summary=\"it is\\x0astuck\"");
    assert_field(&entry, "PRIORITY", "4");
    assert_field(&entry, "SYSLOG_IDENTIFIER", "ripd");
    assert_field(&entry, "SYSLOG_FACILITY", "3");
    assert_field(&entry, "MESSAGE_ID", REPORT_BEGIN_MESSAGE_ID);
    assert_field(&entry, "RIPD_FUNCTION", "f\n<T>");
    assert_field(&entry, "RIPD_FILE", "src/\x1b.c");
    assert_field(&entry, "RIPD_LINE", "120");
    assert_field(&entry, "RIPD_SYSCALL", "flock");
    assert_field(&entry, "RIPD_TARGET", "/tmp/a\nb");
    assert_field(&entry, "RIPD_UNIT", "a.service");
    assert_field(&entry, "RIPD_CONTAINER", "web\n1");
    assert_field(&entry, "RIPD_INCIDENT", "5");
    assert_field(&entry, "RIPD_WAITING_COUNT", "19");
    assert_field(&entry, "RIPD_SUMMARY", "it is\nstuck");
    assert_field(&entry, "RIPD_EVENT", "begin");
    assert_field(&entry, "RIPD_EPISODE", "7");
    assert_field(&entry, "RIPD_RING", "che\nck=out");
    assert_field(&entry, "RIPD_ID", "17");
    assert_field(&entry, "RIPD_TID", "4711");
    assert_field_bytes(&entry, "RIPD_NAME", begin.name, begin.name_bytes);
    assert_field_bytes(&entry, "RIPD_NOTE", begin.note, begin.note_bytes);
    assert_field(&entry, "RIPD_PID", "4690");
    assert_field(&entry, "RIPD_COMM", "co\nmm");
    assert_field(&entry, "RIPD_CAUSE", "blocked");
    assert_field(&entry, "RIPD_FROZEN_FOR_MS", "5432");
    assert_field(&entry, "RIPD_MODULE", "lib\n.so");
    assert_field(&entry, "RIPD_OFFSET", "0x1234");
    assert_no_field(&entry, "RIPD_LASTED_MS");
    assert_no_field(&entry, "RIPD_REASON");
    assert_false(test_journal_receive(scene->listening, &entry)); /* one entry */
    assert_stderr(scene, "");                                     /* and nothing twice */
}

TEST(end, set_up, tear_down)
{
    struct scene *scene = *state;
    struct event end = begin;
    struct test_entry entry;

    end.kind = EVENT_END;
    end.reason = EVENT_REASON_MOVED;
    end.stall_count = 2;
    report_event(&end);
    assert_true(test_journal_receive(scene->listening, &entry));
    assert_field(&entry, "MESSAGE_ID", REPORT_END_MESSAGE_ID);
    assert_field(&entry, "RIPD_EVENT", "end");
    assert_field(&entry, "RIPD_LASTED_MS", "5432");
    assert_field(&entry, "RIPD_REASON", "moved");
    assert_no_field(&entry, "RIPD_FROZEN_FOR_MS");
}

/* What is not known is no field. */
TEST(little_is_known, set_up, tear_down)
{
    const struct event bare = {.kind = EVENT_BEGIN, .episode = 8, .cause = CAUSE_NONE};
    struct scene *scene = *state;
    struct test_entry entry;

    report_event(&bare);
    assert_true(test_journal_receive(scene->listening, &entry));
    assert_int_equal(entry.count, 4 + 4);
    assert_field(&entry, "MESSAGE_ID", REPORT_BEGIN_MESSAGE_ID);
    assert_field(&entry, "RIPD_EVENT", "begin");
    assert_field(&entry, "RIPD_EPISODE", "8");
    assert_field(&entry, "RIPD_FROZEN_FOR_MS", "0");
}

TEST(lines_and_priorities, set_up, tear_down)
{
    static const char *const priorities[LOG_LEVEL_COUNT] = {"3", "4", "6", "7"};
    struct scene *scene = *state;
    struct test_entry entry;

    log_set_level(LOG_LEVEL_DEBUG);
    for (enum log_level level = 0; level < LOG_LEVEL_COUNT; level++) {
        log_line(level, "a sentence: key=%d", 5);
        assert_true(test_journal_receive(scene->listening, &entry));
        assert_int_equal(entry.count, 4);
        assert_field(&entry, "MESSAGE", "a sentence: key=5");
        assert_field(&entry, "PRIORITY", priorities[level]);
    }
    log_set_level(LOG_LEVEL_INFO);
    log_line(LOG_LEVEL_DEBUG, "not asked for");
    assert_false(test_journal_receive(scene->listening, &entry));
}

/* A journal that takes nothing, or is gone: standard error still leads to it. */
TEST(the_stream_instead, set_up, tear_down)
{
    struct scene *scene = *state;
    struct test_entry entry;
    int count = 0;

    unlink(path);
    log_line(LOG_LEVEL_WARNING, "one");
    log_line(LOG_LEVEL_INFO, "two");
    assert_stderr(scene, "<4>one\n<6>two\n");
    close(scene->listening);
    scene->listening = test_journal_listen(path);
    log_line(LOG_LEVEL_ERROR, "three");
    assert_true(test_journal_receive(scene->listening, &entry));
    assert_field(&entry, "MESSAGE", "three");
    assert_stderr(scene, "");
    while (count++ < 100000 && read(scene->reading, scene->text, 1) < 0) /* until it is full */
        log_line(LOG_LEVEL_INFO, "many");
    assert_in_range(count, 2, 99999);
    assert_int_equal(scene->text[0], '<');
}

/* Neither way is open: lost lines are counted, and an entry reports the count as soon as the journal is back. */
TEST(lost_lines_are_logged, set_up, tear_down)
{
    struct scene *scene = *state;
    uint64_t missed = log_missed_count();
    struct test_entry entry;
    char expected[96];

    unlink(path);
    for (int i = 0; i < 20000; i++)
        log_line(LOG_LEVEL_INFO, "line %d of very many", i);
    missed = log_missed_count() - missed;
    assert_true(missed > 0);
    close(scene->listening);
    scene->listening = test_journal_listen(path);
    log_line(LOG_LEVEL_INFO, "heard again");
    assert_true(test_journal_receive(scene->listening, &entry));
    snprintf(expected, sizeof(expected), "log lines lost, standard error was not read: count=%ju", (uintmax_t)missed);
    assert_field(&entry, "MESSAGE", expected);
    assert_field(&entry, "PRIORITY", "4");
    assert_true(test_journal_receive(scene->listening, &entry));
    assert_field(&entry, "MESSAGE", "heard again");
    log_line(LOG_LEVEL_INFO, "once");
    assert_true(test_journal_receive(scene->listening, &entry));
    assert_false(test_journal_receive(scene->listening, &entry));
}

/* Another standard error than the one that was connected: someone has redirected it, and means it. */
TEST(not_our_stream, set_up, tear_down)
{
    struct scene *scene = *state;
    struct test_entry entry;

    log_close_journal();
    setenv("JOURNAL_STREAM", "1:2", 1);
    log_open_journal(path);
    log_line(LOG_LEVEL_INFO, "plain");
    assert_false(test_journal_receive(scene->listening, &entry));
    assert_stderr(scene, "ripd: info: plain\n");
}
