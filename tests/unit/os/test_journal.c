/* SPDX-License-Identifier: Apache-2.0 */
/* test_journal.c - entries in the native protocol of the journal: ripd/os/journal.c. */
#include <errno.h>
#include <fcntl.h>

#include "os/journal.h"
#include "support/ring_stage.h"
#include "support/test.h"
#include "unit/journal_test.h"

static struct ring_stage stage;
static char path[128];

static int set_up(void **state)
{
    (void)state;
    ring_stage_open(&stage);
    snprintf(path, sizeof(path), "%s", ring_stage_path(&stage, "socket"));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ring_stage_close(&stage);
    return 0;
}

static void add_text(struct journal_entry *entry, const char *name, const char *value)
{
    assert_true(journal_entry_add(entry, name, value, strlen(value)));
}

TEST(an_entry)
{
    static const char expected[] = "MESSAGE=Something happened.\nEMPTY=\nBINARY_BLOB\n\4\0\0\0\0\0\0\0xx\nx\nLAST=1\n";
    struct journal_entry entry = {.length = 0};

    add_text(&entry, "MESSAGE", "Something happened.");
    assert_true(journal_entry_add(&entry, "EMPTY", NULL, 0));
    add_text(&entry, "BINARY_BLOB", "xx\nx");
    add_text(&entry, "LAST", "1");
    assert_int_equal(entry.length, sizeof(expected) - 1);
    assert_memory_equal(entry.bytes, expected, sizeof(expected) - 1);
}

/* A value may hold any bytes. It stays one value of one field. */
TEST(hostile_values)
{
    static const struct {
        const char *bytes;
        size_t length;
    } values[] = {
        {"x\nPRIORITY=0\nMESSAGE=all is well", 33},
        {"\n", 1},
        {"\n\n\n", 3},
        {"\0\0\n\0", 4},
        {"a=b=c", 5},
        {"\x1b[2J\x07", 5},
        {"\xff\xfe\xc0\x80", 4},
        {"=", 1},
        {"\nMESSAGE\n\1\0\0\0\0\0\0\0x\n", 19},
    };
    int listening = test_journal_listen(path);
    struct test_entry received;
    struct journal journal;
    char quotes[63];

    assert_int_equal(journal_open(&journal, path), 0);
    assert_true(fcntl(journal.descriptor, F_GETFD) & FD_CLOEXEC);
    memset(quotes, '"', sizeof(quotes));
    for (size_t i = 0; i <= COUNT_OF(values); i++) {
        bool last = i == COUNT_OF(values);
        const char *bytes = last ? quotes : values[i].bytes;
        size_t length = last ? sizeof(quotes) : values[i].length;
        struct journal_entry entry = {.length = 0};

        add_text(&entry, "MESSAGE", "stall begin");
        assert_true(journal_entry_add(&entry, "RIPD_NAME", bytes, length));
        add_text(&entry, "PRIORITY", "4");
        assert_int_equal(journal_send(&journal, &entry), 0);
        assert_true(test_journal_receive(listening, &received));
        assert_int_equal(received.count, 3);
        assert_field(&received, "MESSAGE", "stall begin");
        assert_field_bytes(&received, "RIPD_NAME", bytes, length);
        assert_field(&received, "PRIORITY", "4");
    }
    journal_close(&journal);
    close(listening);
    unlink(path);
}

TEST(a_field_that_does_not_fit_is_left_out)
{
    static char large[JOURNAL_ENTRY_BYTES];
    struct journal_entry entry = {.length = 0};
    size_t before;

    memset(large, 'x', sizeof(large));
    add_text(&entry, "MESSAGE", "text");
    before = entry.length;
    assert_false(journal_entry_add(&entry, "A", large, JOURNAL_ENTRY_BYTES - before - 2)); /* "A=" and a newline */
    assert_false(journal_entry_add(&entry, "A", large, SIZE_MAX));
    assert_int_equal(entry.length, before);
    large[0] = '\n'; /* a binary value, whose length takes 8 bytes */
    assert_false(journal_entry_add(&entry, "A", large, JOURNAL_ENTRY_BYTES - before - 10));
    assert_true(journal_entry_add(&entry, "A", large, JOURNAL_ENTRY_BYTES - before - 11));
    assert_int_equal(entry.length, JOURNAL_ENTRY_BYTES);
    assert_false(journal_entry_add(&entry, "B", NULL, 0));
    assert_memory_equal(entry.bytes, "MESSAGE=text\nA\n", 15);
}

TEST(a_journal_that_does_not_read)
{
    struct journal_entry entry = {.length = 0};
    struct journal journal;
    char long_path[200];
    int listening, result = 0;

    memset(long_path, '/', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(journal_open(&journal, long_path), -ENAMETOOLONG);
    assert_int_equal(journal_send(&journal, &entry), -EBADF);
    add_text(&entry, "MESSAGE", "text");
    assert_int_equal(journal_open(&journal, path), 0);
    assert_int_equal(journal_send(&journal, &entry), -ENOENT);
    listening = test_journal_listen(path);
    for (int i = 0; i < 100000 && result == 0; i++) /* no call waits */
        result = journal_send(&journal, &entry);
    assert_int_equal(result, -EAGAIN);
    close(listening);
    assert_int_equal(journal_send(&journal, &entry), -ECONNREFUSED);
    unlink(path);
    listening = test_journal_listen(path); /* the journal was restarted */
    assert_int_equal(journal_send(&journal, &entry), 0);
    close(listening);
    journal_close(&journal);
}

static bool is_stream(const char *value, int descriptor)
{
    setenv("JOURNAL_STREAM", value, 1);
    return journal_is_stream(descriptor);
}

TEST(streams)
{
    struct stat facts;
    char text[64];
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fstat(ends[1], &facts), 0);
    snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)facts.st_dev, (uintmax_t)facts.st_ino);
    assert_true(is_stream(text, ends[1]));
    assert_false(is_stream(text, -1));
    assert_false(is_stream(text, STDIN_FILENO));
    strcat(text, "0"); /* a number that begins with the right one */
    assert_false(is_stream(text, ends[1]));
    assert_false(is_stream("", ends[1]));
    unsetenv("JOURNAL_STREAM");
    assert_false(journal_is_stream(ends[1]));
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    return tests_run(set_up, tear_down);
}
