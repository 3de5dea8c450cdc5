/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_history.c - events on disk, also if the disk hangs or is full: ripd/record/event_history.c. */
#include <errno.h>
#include <signal.h>

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "os/clock.h"
#include "record/event_history.h"
#include "support/test.h"
#include "unit/event_samples.h"
#include "unit/hanging_disk.h"
#include "unit/state_directory.h"

#define EPOCH 0x77u

/* The state directory of the test, and its history. */
static struct state_directory *directory;
static struct event_history *history;

/* Opens the history, and returns what was found in the files. */
static struct event_history_found open_history(void)
{
    struct event_history_found found;
    char *error;

    if (event_history_open(&history, directory->path, EPOCH, &error) != 0)
        fail_msg("%s", error);
    event_history_found(history, &found);
    return found;
}

static void start_history(void)
{
    open_history();
    assert_int_equal(event_history_start(history), 0);
}

static int set_up_closed(void **state)
{
    state_directory_set_up(state);
    directory = *state;
    return 0;
}

static int set_up(void **state)
{
    set_up_closed(state);
    start_history();
    return 0;
}

static void add_begin(uint64_t sequence, uint64_t episode)
{
    struct event_subject subject = {.episode = episode, .stall_count = 1};
    struct event *event = sample_begin(sequence, episode);

    event_history_add(history, event, &subject);
    event_unref(event);
}

static void add_end(uint64_t sequence, uint64_t episode)
{
    struct event *begin = sample_begin(1, episode), *event = sample_end(sequence, begin);

    event_history_add(history, event, NULL);
    event_unref(begin);
    event_unref(event);
}

static struct event_history_state state_now(void)
{
    struct event_history_state now;

    event_history_state(history, &now);
    return now;
}

/* Waits for the descriptor, as the scanner does, until this event is on disk. */
static void wait_written(uint64_t sequence)
{
    struct pollfd descriptor = {.fd = event_history_descriptor(history), .events = POLLIN};
    struct event_history_state now = state_now();

    for (int i = 0; i < 30000 && (now.written < sequence || now.error != 0); i++) {
        assert_true(poll(&descriptor, 1, 30000) > 0);
        now = state_now();
    }
    if (now.written < sequence || now.error != 0)
        fail_msg("written %ju of %ju, error %d", (uintmax_t)now.written, (uintmax_t)sequence, now.error);
}

/* Closes the history. The next run finds events up to this one, and these open episodes. */
static void assert_found(uint64_t sequence, const uint64_t *open, size_t open_count)
{
    struct event_history_found found;

    event_history_close(history);
    found = open_history();
    assert_int_equal(found.epoch, EPOCH);
    assert_int_equal(found.sequence, sequence);
    assert_int_equal(found.damaged_count, 0);
    assert_false(found.torn);
    assert_null(found.aside);
    assert_int_equal(found.open_count, open_count);
    for (size_t i = 0; i < open_count; i++)
        assert_int_equal(found.open[i].subject.episode, open[i]);
    event_history_close(history);
}

/* Also, no event is missing. */
static void assert_found_all(uint64_t sequence, const uint64_t *open, size_t open_count)
{
    struct event_history_found found;

    assert_found(sequence, open, open_count);
    found = open_history();
    for (size_t i = 0; i < found.event_count; i++)
        assert_int_equal(found.events[i]->sequence, sequence - (found.event_count - 1 - i));
    event_history_close(history);
}

TEST(write_and_read, set_up, state_directory_tear_down)
{
    struct event_history_found found;

    add_begin(1, 1);
    add_begin(2, 2);
    event_history_stall_again(history, 2, 99, 5, 4);
    event_history_stall_again(history, 3, 99, 5, 4); /* there is no such episode */
    add_end(3, 1);
    wait_written(3);
    assert_found_all(3, (uint64_t[]){2}, 1);

    found = open_history();
    assert_int_equal(found.open[0].subject.progress, 99);
    assert_int_equal(found.open[0].subject.stall_count, 2);
    assert_int_equal(found.event_count, 3);
    assert_int_equal(found.episode, 2);
    assert_int_equal(event_history_start(history), 0);
    add_end(4, 2);
    assert_found_all(4, NULL, 0); /* closing writes the rest */
}

/* An open episode is found although its begin is older than both files. */
TEST(rotation, set_up, state_directory_tear_down)
{
    uint64_t sequence = 2, episode = 2;
    char *older;

    add_begin(1, 1);
    do {
        for (int i = 0; i < 200; i++, sequence += 2, episode++) {
            add_begin(sequence, episode);
            add_end(sequence + 1, episode);
        }
        wait_written(sequence - 1);
        older = state_read(directory, EVENT_FILE_OLDER_NAME);
        if (older != NULL && strstr(older, "{\"event\":{\"sequence\":1,") == NULL)
            break;
        free(older);
        assert_true(sequence < 100000);
    } while (true);
    assert_true(strlen(older) >= EVENT_FILE_BYTES_MAX && strlen(older) < EVENT_FILE_BYTES_MAX + 10000);
    free(older);
    assert_found_all(sequence - 1, (uint64_t[]){1}, 1);
}

/* While the disk hangs no caller blocks; then everything is written. */
TEST(a_disk_that_hangs, set_up, state_directory_tear_down)
{
    struct event_history_found found;

    add_begin(1, 1);
    wait_written(1);
    disk_set_hanging(true);
    for (uint64_t i = 2; i < 1000; i++)
        add_begin(i, i);
    assert_int_equal(state_now().written, 1);
    disk_set_hanging(false);
    wait_written(999);
    event_history_close(history);
    found = open_history();
    assert_int_equal(found.open_count, 999);
    assert_int_equal(found.event_count, 999);
    event_history_close(history);
}

/* The queue is full: events are missing in the files, but no number and no episode is lost. */
TEST(more_events_than_the_queue_holds, set_up, state_directory_tear_down)
{
    const uint64_t count = 2 * EVENT_HISTORY_QUEUE_MAX;

    add_begin(1, 1);
    add_begin(2, 2);
    wait_written(2);
    disk_set_hanging(true);
    add_end(3, 1);
    for (uint64_t i = 4; i <= count; i++)
        add_begin(i, i - 1);
    for (uint64_t i = 4; i <= count; i++)
        add_end(count - 3 + i, i - 1);
    add_begin(2 * count - 2, count);
    assert_true(state_now().lost_count > EVENT_HISTORY_QUEUE_MAX);
    disk_set_hanging(false);
    wait_written(2 * count - 2);
    assert_found(2 * count - 2, (uint64_t[]){2, count}, 2);
}

/* Events that could not be written are written as soon as there is room. */
TEST(a_full_disk, set_up, state_directory_tear_down)
{
    struct rlimit limit = {2000, RLIM_INFINITY};

    signal(SIGXFSZ, SIG_IGN);
    add_begin(1, 1);
    wait_written(1);
    setrlimit(RLIMIT_FSIZE, &limit);
    for (uint64_t i = 2; i <= 10; i++)
        add_begin(i, i);
    for (int i = 0; i < 3000 && state_now().error == 0; i++)
        usleep(10000);
    assert_int_equal(state_now().error, -EFBIG);
    assert_true(state_now().written < 10);
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    wait_written(10);
    assert_found_all(10, (uint64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10);
}

/*
 * After a sync that failed, what it should have written may be lost: it is not reported as written, and a new file has
 * all open episodes.
 */
TEST(a_sync_that_fails, set_up, state_directory_tear_down)
{
    struct pollfd descriptor = {.fd = event_history_descriptor(history), .events = POLLIN};
    char *text;

    add_begin(1, 1);
    wait_written(1);
    disk_set_failing(EIO);
    add_begin(2, 2);
    do
        assert_true(poll(&descriptor, 1, 30000) > 0);
    while (state_now().error == 0);
    assert_int_equal(state_now().error, -EIO);
    assert_int_equal(state_now().written, 1);
    wait_written(2);
    text = state_read(directory, EVENT_FILE_NAME);
    assert_non_null(strstr(text, "{\"carried\":{\"sequence\":1,"));
    assert_non_null(strstr(text, "{\"carried\":{\"sequence\":2,"));
    free(text);
    add_end(3, 2);
    wait_written(3);
    assert_found_all(3, (uint64_t[]){1}, 1);
}

/* If the head is damaged or of another version, the epoch changes once, and not at each start. */
TEST(a_damaged_head, set_up, state_directory_tear_down)
{
    struct event_history_found found;
    char *text, *error;

    add_begin(1, 1);
    event_history_close(history);
    text = state_read(directory, EVENT_FILE_NAME);
    memcpy(strstr(text, "history/1"), "history/9", 9);
    state_write(directory, EVENT_FILE_NAME, text, strlen(text));
    free(text);
    for (uint64_t epoch = EPOCH + 1; epoch < EPOCH + 3; epoch++) {
        assert_int_equal(event_history_open(&history, directory->path, epoch, &error), 0);
        event_history_found(history, &found);
        assert_int_equal(found.epoch, EPOCH + 1);
        assert_int_equal(found.sequence, 1);
        assert_int_equal(found.open_count, 1);
        assert_int_equal(event_history_start(history), 0);
        event_history_close(history);
    }
}

/* With nothing to write, closing takes no time. Repeated, because the machine may be busy. */
TEST(closing_with_nothing_to_write, set_up_closed, state_directory_tear_down)
{
    uint64_t shortest_ns = UINT64_MAX;

    for (int i = 0; i < 5 && shortest_ns >= EVENT_HISTORY_CLOSE_NS / 2; i++) {
        uint64_t took_ns;

        start_history();
        took_ns = clock_mono_ns();
        event_history_close(history);
        took_ns = clock_mono_ns() - took_ns;
        shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
    }
    assert_true(shortest_ns < EVENT_HISTORY_CLOSE_NS / 2);
}

/* Closing waits for a disk that hangs for a limited time. The lock ends with the process. */
TEST(closing_while_the_disk_hangs, set_up_closed, state_directory_tear_down)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        start_history();
        add_begin(1, 1);
        wait_written(1);
        disk_set_hanging(true);
        add_begin(2, 2);
        event_history_close(history);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    start_history();
    event_history_close(history);
}

/* An incomplete last line is cut off; a file without a valid line is renamed. */
TEST(damaged_files, set_up_closed, state_directory_tear_down)
{
    static const char head[] =
        "{\"history\":{\"schema\":\"ripd/history/1\",\"epoch\":\"4d\",\"sequence\":7,\"episode\":2}}\n";
    struct event_history_found found = open_history();
    char text[sizeof(head) + 8];
    struct stat status;

    assert_true(found.sequence == 0 && !found.torn && found.aside == NULL);
    event_history_close(history);

    snprintf(text, sizeof(text), "%storn", head);
    state_write(directory, EVENT_FILE_NAME, text, strlen(text));
    state_write(directory, EVENT_FILE_OLDER_NAME, "no line, and no end of one", 26);
    found = open_history();
    assert_true(found.torn);
    assert_string_equal(found.aside, EVENT_FILE_OLDER_NAME ".damaged");
    assert_int_equal(found.sequence, 7);
    assert_int_equal(found.damaged_count, 0);
    assert_int_equal(stat(state_path(directory, EVENT_FILE_NAME), &status), 0);
    assert_int_equal(status.st_size, strlen(head));
    event_history_close(history);
}
