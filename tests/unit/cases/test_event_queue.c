/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_queue.c - order of events, turns of users, limits: ripd/cases/event_queue.c. */
#include <stdlib.h>

#include "cases/event_queue.h"
#include "support/test.h"

enum { ALICE = 1000, BOB, CAROL };

static struct event_queue queue;

static int setup(void **state)
{
    (void)state;
    queue = (struct event_queue){.count = 0};
    return 0;
}

/* AddressSanitizer reports events that leak. */
static int teardown(void **state)
{
    (void)state;
    event_queue_clear(&queue);
    return 0;
}

/* Returns whether there was room without dropping an event. */
static bool push(enum event_kind kind, uint64_t episode, uint32_t user)
{
    struct event *event = event_make();
    uint32_t dropped = 0;
    bool taken;

    assert_non_null(event);
    event->kind = kind;
    event->episode = event->incident = episode;
    taken = event_queue_push(&queue, event, user, &dropped);
    event_unref(event);
    assert_true(taken || dropped != 0);
    return taken;
}

/* Takes the next event while the busy events are handled. Returns 10 * episode + kind, or -1. */
static int take(const struct event_queue_entry *busy, size_t count)
{
    const struct event_queue_entry *next = event_queue_next(&queue, busy, count, 2);
    struct event_queue_entry taken;
    int result;

    if (next == NULL)
        return -1;
    taken = event_queue_take(&queue, next);
    result = (int)taken.event->episode * 10 + (int)taken.event->kind;
    event_unref(taken.event);
    return result;
}

static void assert_begin(int episode)
{
    assert_int_equal(take(NULL, 0), 10 * episode + EVENT_BEGIN);
}

static unsigned waiting_of(uint32_t user)
{
    unsigned count = 0;

    for (size_t i = 0; i < queue.count; i++)
        count += queue.entries[i].user == user;
    return count;
}

TEST(order_of_one_user, setup, teardown)
{
    struct event events[2] = {{.incident = 7}, {.incident = 8}};
    const struct event_queue_entry busy[] = {{&events[0], ALICE, 0}, {&events[1], BOB, 0}};

    assert_int_equal(take(NULL, 0), -1);
    push(EVENT_BEGIN, 7, ALICE);
    push(EVENT_END, 7, ALICE);
    push(EVENT_BEGIN, 8, ALICE);
    push(EVENT_BEGIN, 9, ALICE);
    assert_begin(7);
    assert_int_equal(take(busy, 1), 80 + EVENT_BEGIN); /* the end of 7 waits, others do not */
    assert_int_equal(take(busy, 2), 90 + EVENT_BEGIN);
    assert_int_equal(take(busy, 2), -1);
    assert_int_equal(take(busy + 1, 1), 70 + EVENT_END);
    assert_int_equal(queue.count, 0);
}

TEST(users_take_turns, setup, teardown)
{
    struct event events[2] = {{.incident = 90}, {.incident = 91}};
    const struct event_queue_entry busy[] = {{&events[0], ALICE, 0}, {&events[1], ALICE, 0}};

    for (uint64_t i = 1; i <= 4; i++)
        push(EVENT_BEGIN, i, ALICE);
    assert_begin(1);
    push(EVENT_BEGIN, 5, BOB);
    push(EVENT_BEGIN, 6, BOB);
    push(EVENT_BEGIN, 7, CAROL);
    assert_int_equal(take(busy, 2), 50 + EVENT_BEGIN); /* ALICE has two busy events, as many as allowed */
    assert_int_equal(take(busy, 1), 20 + EVENT_BEGIN);
    assert_begin(7);
    assert_begin(3);
    assert_begin(6);
    assert_begin(4);
    push(EVENT_BEGIN, 8, ALICE); /* a user that had no events has not saved turns */
    push(EVENT_BEGIN, 9, BOB);
    push(EVENT_BEGIN, 10, BOB);
    assert_begin(8);
    assert_begin(9);
}

TEST(room_for_ends, setup, teardown)
{
    unsigned begins = 0, ends = 0;

    while (push(EVENT_BEGIN, ++begins, ALICE))
        ;
    assert_int_equal(begins - 1, EVENT_QUEUE_MAX - EVENT_QUEUE_ENDS);
    while (push(EVENT_END, ++ends, ALICE))
        ;
    assert_int_equal(ends - 1, EVENT_QUEUE_ENDS);
    assert_int_equal(queue.count, EVENT_QUEUE_MAX);
    assert_begin(1);
    assert_false(push(EVENT_BEGIN, 1, ALICE)); /* the free entry is reserved for an end */
    assert_true(push(EVENT_END, 1, ALICE));
    assert_int_equal(event_queue_clear(&queue), EVENT_QUEUE_MAX);
    assert_int_equal(queue.count, 0);
}

/* ALICE fills the queue. Each event of BOB replaces her latest event, until both have the same number. */
TEST(the_user_with_most_events_gives_way, setup, teardown)
{
    const unsigned half = (EVENT_QUEUE_MAX - EVENT_QUEUE_ENDS) / 2;
    uint32_t dropped = 0;
    struct event begin = {.kind = EVENT_BEGIN, .episode = 5000, .incident = 5000};

    for (unsigned i = 1; i <= 600; i++)
        push(EVENT_BEGIN, i, ALICE);
    atomic_init(&begin.references, 1);
    assert_false(event_queue_push(&queue, &begin, BOB, &dropped));
    assert_int_equal(dropped, ALICE);
    for (unsigned i = 1; i <= 600; i++)
        push(EVENT_BEGIN, 1000 + i, BOB);
    assert_int_equal(waiting_of(ALICE), half);
    assert_int_equal(waiting_of(BOB), half);
    assert_begin(1); /* her oldest events are kept */
    for (unsigned i = 1; i <= 600; i++)
        push(EVENT_END, i, ALICE);
    push(EVENT_END, 5000, BOB);
    push(EVENT_BEGIN, 5001, CAROL);
    push(EVENT_END, 5001, CAROL);
    assert_int_equal(waiting_of(CAROL), 2);
    assert_int_equal(queue.count, EVENT_QUEUE_MAX);
    event_queue_clear(&queue);
    assert_int_equal(atomic_load(&begin.references), 1);
}

/* Ends may fill the queue, but they count for their user too. */
TEST(ends_give_way_to_a_begin_of_another_user, setup, teardown)
{
    for (unsigned i = 1; i <= EVENT_QUEUE_MAX; i++)
        assert_true(push(EVENT_END, i, ALICE));
    assert_false(push(EVENT_BEGIN, 1000, BOB));
    assert_int_equal(waiting_of(BOB), 1);
    assert_int_equal(queue.count, EVENT_QUEUE_MAX);
}
