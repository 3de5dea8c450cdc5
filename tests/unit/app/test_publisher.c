/* SPDX-License-Identifier: Apache-2.0 */
/* test_publisher.c - an event is announced when it is on disk, unless the disk fails or hangs: ripd/app/publisher.c. */
#include <errno.h>

#include <poll.h>

#include "app/log.h"
#include "app/publisher.h"
#include "support/test.h"
#include "unit/event_samples.h"
#include "unit/hanging_disk.h"
#include "unit/state_directory.h"

static uint64_t announced;
static struct health health;

/* Each once, in order. */
static void on_announce(void *context, struct event *event)
{
    assert_ptr_equal(context, &announced);
    assert_int_equal(event->sequence, ++announced);
}

static struct publisher *started(const char *state_directory)
{
    const struct publisher_options options = {state_directory, on_announce, &announced, &health};
    struct publisher *publisher = NULL;
    struct event_history_found found;

    announced = 0;
    health = (struct health){0};
    assert_int_equal(publisher_new(&publisher, &options), 0);
    publisher_found(publisher, &found);
    assert_true(found.epoch != 0);
    assert_int_equal(publisher_start(publisher), 0);
    return publisher;
}

static void add(struct publisher *publisher, uint64_t sequence, uint64_t now_ns)
{
    struct event_subject subject = {.episode = sequence, .stall_count = 1};

    publisher_add(publisher, sample_begin(sequence, sequence), &subject, now_ns);
}

static void wait_announced(struct publisher *publisher, uint64_t count, uint64_t now_ns)
{
    struct pollfd descriptor = {.fd = publisher_descriptor(publisher), .events = POLLIN};

    for (int i = 0; i < 30 && announced < count; i++) {
        poll(&descriptor, 1, 1000);
        publisher_step(publisher, now_ns);
    }
    assert_int_equal(announced, count);
}

TEST(without_a_directory)
{
    struct publisher *publisher = started(NULL);
    struct event_history_found found;

    publisher_found(publisher, &found);
    assert_int_equal(found.sequence, 0);
    add(publisher, 1, 0);
    assert_int_equal(announced, 1);
    assert_int_equal(publisher_descriptor(publisher), -1);
    assert_true(publisher_wait_ns(publisher, 0) == UINT64_MAX);
    publisher_stop(publisher);
    publisher_free(publisher);
}

TEST(disk_first, state_directory_set_up, state_directory_tear_down)
{
    struct publisher *publisher = started(((struct state_directory *)*state)->path);

    add(publisher, 1, 0);
    wait_announced(publisher, 1, 0);
    disk_set_hanging(true);
    add(publisher, 2, 0);
    publisher_step(publisher, PUBLISHER_PATIENCE_NS - 1);
    assert_int_equal(announced, 1);
    assert_int_equal(publisher_wait_ns(publisher, PUBLISHER_PATIENCE_NS - 1), 1);
    disk_set_hanging(false);
    wait_announced(publisher, 2, 0);
    assert_int_equal(health.history_error_count, 0);
    publisher_free(publisher);
}

TEST(patience_ends, state_directory_set_up, state_directory_tear_down)
{
    struct publisher *publisher = started(((struct state_directory *)*state)->path);
    uint64_t now_ns = 5 * PUBLISHER_PATIENCE_NS;
    char *text;

    disk_set_hanging(true);
    add(publisher, 1, now_ns);
    add(publisher, 2, now_ns + 1);
    publisher_step(publisher, now_ns + PUBLISHER_PATIENCE_NS);
    assert_int_equal(announced, 2); /* nothing goes before its turn, and nothing waits once it is known */
    add(publisher, 3, now_ns + PUBLISHER_PATIENCE_NS);
    publisher_step(publisher, now_ns + PUBLISHER_PATIENCE_NS);
    assert_int_equal(announced, 3);
    assert_int_equal(health.history_error_count, 3);
    disk_set_hanging(false);
    while (poll(&(struct pollfd){publisher_descriptor(publisher), POLLIN, 0}, 1, 1000) > 0)
        publisher_step(publisher, now_ns + PUBLISHER_PATIENCE_NS);
    text = state_read(*state, EVENT_FILE_NAME); /* all of it is written: the disk comes first again */
    assert_non_null(strstr(text, "{\"event\":{\"sequence\":3,"));
    free(text);
    disk_set_hanging(true);
    add(publisher, 4, now_ns + PUBLISHER_PATIENCE_NS);
    publisher_step(publisher, now_ns + PUBLISHER_PATIENCE_NS);
    assert_int_equal(announced, 3);
    disk_set_hanging(false);
    publisher_stop(publisher); /* announces the event still queued */
    assert_int_equal(announced, 4);
    publisher_free(publisher);
}

TEST(a_directory_that_cannot_be)
{
    const struct publisher_options options = {"/dev/null", on_announce, NULL, &health};
    struct publisher *publisher = NULL;

    assert_int_equal(publisher_new(&publisher, &options), -ENOTDIR);
    assert_null(publisher);
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR);
    return tests_run(NULL, NULL);
}
