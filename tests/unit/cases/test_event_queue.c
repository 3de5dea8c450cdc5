/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_queue.c - order, room for ends, references: ripd/cases/event_queue.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cases/event_queue.h"

static struct event *event_of(enum event_kind kind, uint64_t episode)
{
    struct event *event = calloc(1, sizeof(*event));

    assert_non_null(event);
    atomic_init(&event->references, 1);
    event->kind = kind;
    event->episode = episode;
    return event;
}

static bool push(struct event_queue *queue, enum event_kind kind, uint64_t episode)
{
    struct event *event = event_of(kind, episode);
    bool taken = event_queue_push(queue, event);

    event_unref(event);
    return taken;
}

/* Takes the next one out: its kind and episode, or -1. */
static int take(struct event_queue *queue, const uint64_t *busy, size_t count)
{
    struct event *event = event_queue_next(queue, busy, count);
    int result;

    if (event == NULL)
        return -1;
    event_queue_remove(queue, event);
    result = (int)event->episode * 10 + (int)event->kind;
    event_unref(event);
    return result;
}

static void test_order(void **state)
{
    struct event_queue queue = {.count = 0};
    uint64_t busy[] = {7, 8};

    (void)state;
    assert_int_equal(take(&queue, NULL, 0), -1);
    assert_true(push(&queue, EVENT_BEGIN, 7));
    assert_true(push(&queue, EVENT_END, 7));
    assert_true(push(&queue, EVENT_BEGIN, 8));
    assert_true(push(&queue, EVENT_BEGIN, 9));
    assert_int_equal(take(&queue, NULL, 0), 70 + EVENT_BEGIN);
    assert_int_equal(take(&queue, busy, 1), 80 + EVENT_BEGIN); /* the end of 7 waits, others do not */
    assert_int_equal(take(&queue, busy, 2), 90 + EVENT_BEGIN);
    assert_int_equal(take(&queue, busy, 2), -1);
    assert_int_equal(take(&queue, busy + 1, 1), 70 + EVENT_END);
    assert_int_equal(queue.count, 0);
}

static void test_room_for_ends(void **state)
{
    struct event_queue queue = {.count = 0};
    unsigned begins = 0, ends = 0;

    (void)state;
    while (push(&queue, EVENT_BEGIN, ++begins))
        ;
    assert_int_equal(begins - 1, EVENT_QUEUE_MAX - EVENT_QUEUE_ENDS);
    while (push(&queue, EVENT_END, ++ends))
        ;
    assert_int_equal(ends - 1, EVENT_QUEUE_ENDS);
    assert_int_equal(queue.count, EVENT_QUEUE_MAX);
    assert_int_equal(take(&queue, NULL, 0), 10 + EVENT_BEGIN);
    assert_false(push(&queue, EVENT_BEGIN, 1)); /* it is an end's place that was freed */
    assert_true(push(&queue, EVENT_END, 1));
    assert_int_equal(event_queue_clear(&queue), EVENT_QUEUE_MAX); /* a leak would show under AddressSanitizer */
    assert_int_equal(queue.count, 0);
}

static void test_references(void **state)
{
    struct event_queue queue = {.count = 0};
    struct event *event = event_of(EVENT_BEGIN, 1), *taken;

    (void)state;
    assert_true(event_queue_push(&queue, event));
    assert_int_equal(atomic_load(&event->references), 2);
    taken = event_queue_next(&queue, NULL, 0);
    assert_ptr_equal(taken, event);
    assert_int_equal(queue.count, 1); /* a look takes nothing out */
    event_queue_remove(&queue, event);
    assert_int_equal(queue.count, 0);
    assert_int_equal(atomic_load(&event->references), 2);
    event_unref(taken);
    event_unref(event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_room_for_ends),
        cmocka_unit_test(test_references),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
