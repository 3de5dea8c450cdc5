/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_report_fields.c - the fields of journal entries, with a journal socket of the test and a standard error that is
 * connected to the journal: ripd/app/report.c, log.c.
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
static struct {
    int listening;
    int saved;
    int reading;
    char text[65536];
} scene;

/* The last entry. */
static struct test_entry received;

static int set_up(void **state)
{
    struct stat facts;
    char stream[64];
    int ends[2];

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(fstat(ends[1], &facts), 0);
    snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)facts.st_dev, (uintmax_t)facts.st_ino);
    setenv("JOURNAL_STREAM", stream, 1);
    scene.saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    scene.reading = ends[0];
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/socket", directory);
    scene.listening = test_journal_listen(path);
    log_open_journal(path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    log_close_journal();
    dup2(scene.saved, STDERR_FILENO);
    close(scene.saved);
    close(scene.reading);
    close(scene.listening);
    unlink(path);
    rmdir(directory);
    unsetenv("JOURNAL_STREAM");
    return 0;
}

static void assert_stderr(const char *expected)
{
    ssize_t length = read(scene.reading, scene.text, sizeof(scene.text) - 1);

    scene.text[length < 0 ? 0 : length] = '\0';
    assert_string_equal(scene.text, expected);
}

static void receive(void)
{
    assert_true(test_journal_receive(scene.listening, &received));
}

static void assert_no_entry(void)
{
    assert_false(test_journal_receive(scene.listening, &received));
}

/* The next entry has this message. */
static void receive_message(const char *message)
{
    receive();
    assert_field(&received, "MESSAGE", message);
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

struct field {
    const char *name, *value;
};

static void assert_fields(const struct field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_field(&received, fields[i].name, fields[i].value);
}

TEST(begin, set_up, tear_down)
{
    static const struct field fields[] = {
        {"MESSAGE",
         "stall begin episode=7 incident=5 ring=\"che\\x0ack=out\" id=17 tid=4711 "
         "name=\"x\\x0aMESSAGE=evil\\x0a\\x1b[2J\\xff\\x00\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\\"\\x00\" "
         "cause=blocked frozen_for_ms=5432 note=\"GET\\x0a/\\x00\\xff\" module=\"lib\\x0a.so\" offset=0x1234 "
         "function=\"f\\x0a<T>\" file=\"src/\\x1b.c\" line=120 "
         "syscall=flock target=\"/tmp/a\\x0ab\" waits_for=\"ow\\x0an\" waiting_count=19 "
         "summary=\"it is\\x0astuck\""},
        {"PRIORITY", "4"},
        {"SYSLOG_IDENTIFIER", "ripd"},
        {"SYSLOG_FACILITY", "3"},
        {"MESSAGE_ID", REPORT_BEGIN_MESSAGE_ID},
        {"RIPD_FUNCTION", "f\n<T>"},
        {"RIPD_FILE", "src/\x1b.c"},
        {"RIPD_LINE", "120"},
        {"RIPD_SYSCALL", "flock"},
        {"RIPD_TARGET", "/tmp/a\nb"},
        {"RIPD_UNIT", "a.service"},
        {"RIPD_CONTAINER", "web\n1"},
        {"RIPD_INCIDENT", "5"},
        {"RIPD_WAITING_COUNT", "19"},
        {"RIPD_SUMMARY", "it is\nstuck"},
        {"RIPD_EVENT", "begin"},
        {"RIPD_EPISODE", "7"},
        {"RIPD_RING", "che\nck=out"},
        {"RIPD_ID", "17"},
        {"RIPD_TID", "4711"},
        {"RIPD_PID", "4690"},
        {"RIPD_COMM", "co\nmm"},
        {"RIPD_CAUSE", "blocked"},
        {"RIPD_FROZEN_FOR_MS", "5432"},
        {"RIPD_MODULE", "lib\n.so"},
        {"RIPD_OFFSET", "0x1234"},
    };

    report_event(&begin);
    receive();
    assert_int_equal(received.count, 4 + FIELD_COUNT - 2); /* without LASTED_MS and REASON */
    assert_fields(fields, COUNT_OF(fields));
    assert_field_bytes(&received, "RIPD_NAME", begin.name, begin.name_bytes);
    assert_field_bytes(&received, "RIPD_NOTE", begin.note, begin.note_bytes);
    assert_no_field(&received, "RIPD_LASTED_MS");
    assert_no_field(&received, "RIPD_REASON");
    assert_no_entry();
    assert_stderr("");
}

TEST(end, set_up, tear_down)
{
    static const struct field fields[] = {{"MESSAGE_ID", REPORT_END_MESSAGE_ID},
                                          {"RIPD_EVENT", "end"},
                                          {"RIPD_LASTED_MS", "5432"},
                                          {"RIPD_REASON", "moved"}};
    struct event end = begin;

    end.kind = EVENT_END;
    end.reason = EVENT_REASON_MOVED;
    end.stall_count = 2;
    report_event(&end);
    receive();
    assert_fields(fields, COUNT_OF(fields));
    assert_no_field(&received, "RIPD_FROZEN_FOR_MS");
}

/* An unknown value has no field. */
TEST(little_is_known, set_up, tear_down)
{
    static const struct field fields[] = {{"MESSAGE_ID", REPORT_BEGIN_MESSAGE_ID},
                                          {"RIPD_EVENT", "begin"},
                                          {"RIPD_EPISODE", "8"},
                                          {"RIPD_FROZEN_FOR_MS", "0"}};
    const struct event bare = {.kind = EVENT_BEGIN, .episode = 8, .cause = CAUSE_NONE};

    report_event(&bare);
    receive();
    assert_int_equal(received.count, 4 + 4);
    assert_fields(fields, COUNT_OF(fields));
}

TEST(lines_and_priorities, set_up, tear_down)
{
    static const char *const priorities[LOG_LEVEL_COUNT] = {"3", "4", "6", "7"};

    log_set_level(LOG_LEVEL_DEBUG);
    for (enum log_level level = 0; level < LOG_LEVEL_COUNT; level++) {
        log_line(level, "a sentence: key=%d", 5);
        receive_message("a sentence: key=5");
        assert_int_equal(received.count, 4);
        assert_field(&received, "PRIORITY", priorities[level]);
    }
    log_set_level(LOG_LEVEL_INFO);
    log_line(LOG_LEVEL_DEBUG, "below the level");
    assert_no_entry();
}

/* Lines go to standard error, which leads to the journal, if the socket is gone or full. */
TEST(the_stream_instead, set_up, tear_down)
{
    int count = 0;

    unlink(path);
    log_line(LOG_LEVEL_WARNING, "one");
    log_line(LOG_LEVEL_INFO, "two");
    assert_stderr("<4>one\n<6>two\n");
    close(scene.listening);
    scene.listening = test_journal_listen(path);
    log_line(LOG_LEVEL_ERROR, "three");
    receive_message("three");
    assert_stderr("");
    while (count++ < 100000 && read(scene.reading, scene.text, 1) < 0) /* until the socket is full */
        log_line(LOG_LEVEL_INFO, "many");
    assert_in_range(count, 2, 99999);
    assert_int_equal(scene.text[0], '<');
}

/* With both ways closed, lost lines are counted; an entry reports the count when the journal is back. */
TEST(lost_lines_are_logged, set_up, tear_down)
{
    uint64_t missed = log_missed_count();
    char expected[96];

    unlink(path);
    for (int i = 0; i < 20000; i++)
        log_line(LOG_LEVEL_INFO, "line %d of very many", i);
    missed = log_missed_count() - missed;
    assert_true(missed > 0);
    close(scene.listening);
    scene.listening = test_journal_listen(path);
    log_line(LOG_LEVEL_INFO, "heard again");
    snprintf(expected, sizeof(expected), "log lines lost, standard error was not read: count=%ju", (uintmax_t)missed);
    receive_message(expected);
    assert_field(&received, "PRIORITY", "4");
    receive_message("heard again");
    log_line(LOG_LEVEL_INFO, "once");
    receive_message("once");
    assert_no_entry();
}

/* A standard error that was redirected gets the lines. */
TEST(redirected_standard_error, set_up, tear_down)
{
    log_close_journal();
    setenv("JOURNAL_STREAM", "1:2", 1);
    log_open_journal(path);
    log_line(LOG_LEVEL_INFO, "plain");
    assert_no_entry();
    assert_stderr("ripd: info: plain\n");
}
