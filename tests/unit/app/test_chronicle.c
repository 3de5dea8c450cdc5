/* SPDX-License-Identifier: Apache-2.0 */
/* test_chronicle.c - an event is announced when it is on disk, unless the disk fails or hangs: ripd/app/chronicle.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>

#include "app/chronicle.h"
#include "app/log.h"
#include "unit/event_samples.h"
#include "unit/hanging_disk.h"
#include "unit/state_directory.h"

static uint64_t announced;

/* Each once, in order. */
static void on_announce(void *context, struct event *event)
{
    assert_ptr_equal(context, &announced);
    assert_int_equal(event->sequence, ++announced);
}

static struct chronicle *started(const char *state_directory)
{
    const struct chronicle_options options = {state_directory, on_announce, &announced};
    struct chronicle *chronicle = NULL;

    announced = 0;
    assert_int_equal(chronicle_new(&chronicle, &options), 0);
    assert_true(chronicle_epoch(chronicle) != 0);
    assert_int_equal(chronicle_start(chronicle), 0);
    return chronicle;
}

static void add(struct chronicle *chronicle, uint64_t sequence, uint64_t now_ns)
{
    struct event_subject subject = {.episode = sequence, .stall_count = 1};

    chronicle_add(chronicle, sample_begin(sequence, sequence), &subject, now_ns);
}

static void wait_announced(struct chronicle *chronicle, uint64_t count, uint64_t now_ns)
{
    struct pollfd descriptor = {.fd = chronicle_descriptor(chronicle), .events = POLLIN};

    for (int i = 0; i < 30 && announced < count; i++) {
        poll(&descriptor, 1, 1000);
        chronicle_step(chronicle, now_ns);
    }
    assert_int_equal(announced, count);
}

static void test_without_a_directory(void **state)
{
    struct chronicle *chronicle = started(NULL);
    struct event_history_found found;

    (void)state;
    chronicle_found(chronicle, &found);
    assert_int_equal(found.sequence, 0);
    add(chronicle, 1, 0);
    assert_int_equal(announced, 1);
    assert_int_equal(chronicle_descriptor(chronicle), -1);
    assert_true(chronicle_wait_ns(chronicle, 0) == UINT64_MAX);
    chronicle_stop(chronicle);
    chronicle_free(chronicle);
}

static void test_disk_first(void **state)
{
    struct chronicle *chronicle = started(((struct state_directory *)*state)->path);

    add(chronicle, 1, 0);
    wait_announced(chronicle, 1, 0);
    disk_set_hanging(true);
    add(chronicle, 2, 0);
    chronicle_step(chronicle, CHRONICLE_PATIENCE_NS - 1);
    assert_int_equal(announced, 1);
    assert_int_equal(chronicle_wait_ns(chronicle, CHRONICLE_PATIENCE_NS - 1), 1);
    disk_set_hanging(false);
    wait_announced(chronicle, 2, 0);
    assert_int_equal(chronicle_error_count(chronicle), 0);
    chronicle_free(chronicle);
}

static void test_patience_ends(void **state)
{
    struct chronicle *chronicle = started(((struct state_directory *)*state)->path);
    uint64_t now_ns = 5 * CHRONICLE_PATIENCE_NS;
    char *text;

    disk_set_hanging(true);
    add(chronicle, 1, now_ns);
    add(chronicle, 2, now_ns + 1);
    chronicle_step(chronicle, now_ns + CHRONICLE_PATIENCE_NS);
    assert_int_equal(announced, 2); /* nothing goes before its turn, and nothing waits once it is known */
    add(chronicle, 3, now_ns + CHRONICLE_PATIENCE_NS);
    chronicle_step(chronicle, now_ns + CHRONICLE_PATIENCE_NS);
    assert_int_equal(announced, 3);
    assert_int_equal(chronicle_error_count(chronicle), 3);
    disk_set_hanging(false);
    while (poll(&(struct pollfd){chronicle_descriptor(chronicle), POLLIN, 0}, 1, 1000) > 0)
        chronicle_step(chronicle, now_ns + CHRONICLE_PATIENCE_NS);
    text = state_read(*state, EVENT_FILE_NAME); /* all of it is written: the disk comes first again */
    assert_non_null(strstr(text, "{\"event\":{\"sequence\":3,"));
    free(text);
    disk_set_hanging(true);
    add(chronicle, 4, now_ns + CHRONICLE_PATIENCE_NS);
    chronicle_step(chronicle, now_ns + CHRONICLE_PATIENCE_NS);
    assert_int_equal(announced, 3);
    disk_set_hanging(false);
    chronicle_stop(chronicle); /* announces the event still queued */
    assert_int_equal(announced, 4);
    chronicle_free(chronicle);
}

static void test_a_directory_that_cannot_be(void **state)
{
    const struct chronicle_options options = {"/dev/null", on_announce, NULL};
    struct chronicle *chronicle = NULL;

    (void)state;
    assert_int_equal(chronicle_new(&chronicle, &options), -ENOTDIR);
    assert_null(chronicle);
}

int main(void)
{
#define CHRONICLE_TEST(name) cmocka_unit_test_setup_teardown(name, state_directory_set_up, state_directory_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_directory),
        CHRONICLE_TEST(test_disk_first),
        CHRONICLE_TEST(test_patience_ends),
        cmocka_unit_test(test_a_directory_that_cannot_be),
    };

    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
