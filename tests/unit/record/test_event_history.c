/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_history.c - events on disk, through a disk that hangs and one that is full: ripd/record/event_history.c.
 */
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

static struct event_history *opened(struct state_directory *directory)
{
    struct event_history *history = NULL;
    char *error;

    if (event_history_open(&history, directory->path, EPOCH, &error) != 0)
        fail_msg("%s", error);
    return history;
}

static struct event_history *started(struct state_directory *directory)
{
    struct event_history *history = opened(directory);

    assert_int_equal(event_history_start(history), 0);
    return history;
}

static void add_begin(struct event_history *history, uint64_t sequence, uint64_t episode)
{
    struct event_subject subject = {.episode = episode, .stall_count = 1};
    struct event *event = sample_begin(sequence, episode);

    event_history_add(history, event, &subject);
    event_unref(event);
}

static void add_end(struct event_history *history, uint64_t sequence, uint64_t episode)
{
    struct event *begin = sample_begin(1, episode), *event = sample_end(sequence, begin);

    event_history_add(history, event, NULL);
    event_unref(begin);
    event_unref(event);
}

/* Until so much is on disk. Waits for the descriptor, as the scanner does. */
static void wait_written(struct event_history *history, uint64_t sequence)
{
    struct pollfd descriptor = {.fd = event_history_descriptor(history), .events = POLLIN};
    struct event_history_state state;

    for (int i = 0; i < 30000; i++) {
        event_history_state(history, &state);
        if (state.written >= sequence && state.error == 0)
            return;
        assert_true(poll(&descriptor, 1, 30000) > 0);
    }
    fail_msg("written %llu of %llu, error %d", (unsigned long long)state.written, (unsigned long long)sequence,
             state.error);
}

/* What another run finds: events up to the last, without a gap unless some were lost, and which episodes are open. */
static void assert_found_but(bool lost, struct state_directory *directory, uint64_t sequence, const uint64_t *open,
                             size_t open_count)
{
    struct event_history *history = opened(directory);
    struct event_history_found found;

    event_history_found(history, &found);
    assert_int_equal(found.epoch, EPOCH);
    assert_int_equal(found.sequence, sequence);
    assert_int_equal(found.damaged_count, 0);
    assert_false(found.torn);
    assert_null(found.aside);
    assert_int_equal(found.open_count, open_count);
    for (size_t i = 0; i < open_count; i++)
        assert_int_equal(found.open[i].subject.episode, open[i]);
    for (size_t i = 0; !lost && i < found.event_count; i++)
        assert_int_equal(found.events[i]->sequence, sequence - (found.event_count - 1 - i));
    event_history_close(history);
}

static void assert_found(struct state_directory *directory, uint64_t sequence, const uint64_t *open, size_t open_count)
{
    assert_found_but(false, directory, sequence, open, open_count);
}

TEST(there_and_back, state_directory_set_up, state_directory_tear_down)
{
    struct event_history *history = started(*state);

    add_begin(history, 1, 1);
    add_begin(history, 2, 2);
    event_history_stall_again(history, 2, 99, 5, 4);
    event_history_stall_again(history, 3, 99, 5, 4); /* there is none */
    add_end(history, 3, 1);
    wait_written(history, 3);
    event_history_close(history);
    assert_found(*state, 3, (uint64_t[]){2}, 1);

    history = opened(*state);
    {
        struct event_history_found found;

        event_history_found(history, &found);
        assert_int_equal(found.open[0].subject.progress, 99);
        assert_int_equal(found.open[0].subject.stall_count, 2);
        assert_int_equal(found.event_count, 3);
        assert_int_equal(found.episode, 2);
    }
    assert_int_equal(event_history_start(history), 0);
    add_end(history, 4, 2);
    event_history_close(history); /* writes the rest */
    assert_found(*state, 4, NULL, 0);
}

/* An episode that is older than both files is found none the less. */
TEST(files_follow, state_directory_set_up, state_directory_tear_down)
{
    struct event_history *history = started(*state);
    uint64_t sequence = 2, episode = 2;
    char *older;

    add_begin(history, 1, 1);
    do {
        for (int i = 0; i < 200; i++, sequence += 2, episode++) {
            add_begin(history, sequence, episode);
            add_end(history, sequence + 1, episode);
        }
        wait_written(history, sequence - 1);
        older = state_read(*state, EVENT_FILE_OLDER_NAME);
        if (older != NULL && strstr(older, "{\"event\":{\"sequence\":1,") == NULL)
            break;
        free(older);
        assert_true(sequence < 100000);
    } while (true);
    assert_true(strlen(older) >= EVENT_FILE_BYTES_MAX && strlen(older) < EVENT_FILE_BYTES_MAX + 10000);
    free(older);
    event_history_close(history);
    assert_found(*state, sequence - 1, (uint64_t[]){1}, 1);
}

/* A disk that hangs: nobody waits, and when it goes on, everything is there. */
TEST(a_disk_that_hangs, state_directory_set_up, state_directory_tear_down)
{
    struct event_history *history = started(*state);
    struct event_history_state now;

    add_begin(history, 1, 1);
    wait_written(history, 1);
    disk_set_hanging(true);
    for (uint64_t i = 2; i < 1000; i++)
        add_begin(history, i, i);
    event_history_state(history, &now);
    assert_int_equal(now.written, 1);
    disk_set_hanging(false);
    wait_written(history, 999);
    event_history_close(history);
    history = opened(*state);
    {
        struct event_history_found found;

        event_history_found(history, &found);
        assert_int_equal(found.open_count, 999);
        assert_int_equal(found.event_count, 999);
    }
    event_history_close(history);
}

/* It hangs for longer than there is room: events are lost to the files, but no number and no episode. */
TEST(more_than_can_wait, state_directory_set_up, state_directory_tear_down)
{
    const uint64_t count = 2 * EVENT_HISTORY_QUEUE_MAX;
    struct event_history *history = started(*state);
    struct event_history_state now;

    add_begin(history, 1, 1);
    add_begin(history, 2, 2);
    wait_written(history, 2);
    disk_set_hanging(true);
    add_end(history, 3, 1);
    for (uint64_t i = 4; i <= count; i++)
        add_begin(history, i, i - 1);
    for (uint64_t i = 4; i <= count; i++)
        add_end(history, count - 3 + i, i - 1);
    add_begin(history, 2 * count - 2, count);
    event_history_state(history, &now);
    assert_true(now.lost_count > EVENT_HISTORY_QUEUE_MAX);
    disk_set_hanging(false);
    wait_written(history, 2 * count - 2);
    event_history_close(history);
    assert_found_but(true, *state, 2 * count - 2, (uint64_t[]){2, count}, 2);
}

/* No room: what could not be written is, as soon as there is. */
TEST(a_full_disk, state_directory_set_up, state_directory_tear_down)
{
    struct event_history *history = started(*state);
    struct rlimit limit = {2000, RLIM_INFINITY};
    struct event_history_state now;

    signal(SIGXFSZ, SIG_IGN);
    add_begin(history, 1, 1);
    wait_written(history, 1);
    setrlimit(RLIMIT_FSIZE, &limit);
    for (uint64_t i = 2; i <= 10; i++)
        add_begin(history, i, i);
    for (int i = 0; i < 3000; i++) {
        event_history_state(history, &now);
        if (now.error != 0)
            break;
        usleep(10000);
    }
    assert_int_equal(now.error, -EFBIG);
    assert_true(now.written < 10);
    limit.rlim_cur = RLIM_INFINITY;
    setrlimit(RLIMIT_FSIZE, &limit);
    wait_written(history, 10);
    event_history_close(history);
    assert_found(*state, 10, (uint64_t[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10);
}

/* What a sync that failed was to write may be gone: it is not said to be on disk, and a new file has what must survive.
 */
TEST(a_sync_that_fails, state_directory_set_up, state_directory_tear_down)
{
    struct pollfd descriptor = {.events = POLLIN};
    struct event_history *history = started(*state);
    struct event_history_state now;
    char *text;

    descriptor.fd = event_history_descriptor(history);
    add_begin(history, 1, 1);
    wait_written(history, 1);
    disk_set_failing(EIO);
    add_begin(history, 2, 2);
    do {
        assert_true(poll(&descriptor, 1, 30000) > 0);
        event_history_state(history, &now);
    } while (now.error == 0);
    assert_int_equal(now.error, -EIO);
    assert_int_equal(now.written, 1);
    wait_written(history, 2);
    text = state_read(*state, EVENT_FILE_NAME);
    assert_non_null(strstr(text, "{\"carried\":{\"sequence\":1,"));
    assert_non_null(strstr(text, "{\"carried\":{\"sequence\":2,"));
    free(text);
    add_end(history, 3, 2);
    wait_written(history, 3);
    event_history_close(history);
    assert_found(*state, 3, (uint64_t[]){1}, 1);
}

/* Damaged, or of another version: the epoch is another then, once, and not at each start. */
TEST(a_head_that_is_lost, state_directory_set_up, state_directory_tear_down)
{
    struct event_history *history = started(*state);
    struct event_history_found found;
    char *text, *error;

    add_begin(history, 1, 1);
    event_history_close(history);
    text = state_read(*state, EVENT_FILE_NAME);
    memcpy(strstr(text, "history/1"), "history/9", 9);
    state_write(*state, EVENT_FILE_NAME, text, strlen(text));
    free(text);
    for (uint64_t epoch = EPOCH + 1; epoch < EPOCH + 3; epoch++) {
        assert_int_equal(event_history_open(&history, ((struct state_directory *)*state)->path, epoch, &error), 0);
        event_history_found(history, &found);
        assert_int_equal(found.epoch, EPOCH + 1);
        assert_int_equal(found.sequence, 1);
        assert_int_equal(found.open_count, 1);
        assert_int_equal(event_history_start(history), 0);
        event_history_close(history);
    }
}

/* With nothing left to write it is over at once, but on a machine that has put us aside each time. */
TEST(closing_does_not_wait_in_vain, state_directory_set_up, state_directory_tear_down)
{
    uint64_t shortest_ns = UINT64_MAX;

    for (int i = 0; i < 5 && shortest_ns >= EVENT_HISTORY_CLOSE_NS / 2; i++) {
        struct event_history *history = started(*state);
        uint64_t took_ns = clock_mono_ns();

        event_history_close(history);
        took_ns = clock_mono_ns() - took_ns;
        shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
    }
    assert_true(shortest_ns < EVENT_HISTORY_CLOSE_NS / 2);
}

/* Closing waits for no disk for long. What it leaves behind goes with the process, and the lock too. */
TEST(closing_while_it_hangs, state_directory_set_up, state_directory_tear_down)
{
    struct event_history *history;
    int status;
    pid_t child = fork();

    if (child == 0) {
        history = started(*state);
        add_begin(history, 1, 1);
        wait_written(history, 1);
        disk_set_hanging(true);
        add_begin(history, 2, 2);
        event_history_close(history);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    history = started(*state);
    event_history_close(history);
}

/* A last line without an end is cut off; a file without a line of ours is moved out of the way. */
TEST(damaged_files, state_directory_set_up, state_directory_tear_down)
{
    static const char head[] =
        "{\"history\":{\"schema\":\"ripd/history/1\",\"epoch\":\"4d\",\"sequence\":7,\"episode\":2}}\n";
    struct event_history *history = opened(*state);
    struct event_history_found found;
    char text[sizeof(head) + 8];
    struct stat status;

    event_history_found(history, &found);
    assert_true(found.sequence == 0 && !found.torn && found.aside == NULL);
    event_history_close(history);

    snprintf(text, sizeof(text), "%storn", head);
    state_write(*state, EVENT_FILE_NAME, text, strlen(text));
    state_write(*state, EVENT_FILE_OLDER_NAME, "no line, and no end of one", 26);
    history = opened(*state);
    event_history_found(history, &found);
    assert_true(found.torn);
    assert_string_equal(found.aside, EVENT_FILE_OLDER_NAME ".damaged");
    assert_int_equal(found.sequence, 7);
    assert_int_equal(found.damaged_count, 0);
    assert_int_equal(stat(state_path(*state, EVENT_FILE_NAME), &status), 0);
    assert_int_equal(status.st_size, strlen(head));
    event_history_close(history);
}
