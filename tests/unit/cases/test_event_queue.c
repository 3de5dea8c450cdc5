/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_queue.c - order, turns of users, who gives way: ripd/cases/event_queue.c. */
#include <stdlib.h>

#include "cases/event_queue.h"
#include "support/test.h"

enum { ALICE = 1000, BOB, CAROL };

static bool push(struct event_queue *queue, enum event_kind kind, uint64_t episode, uint32_t user)
{
    struct event *event = calloc(1, sizeof(*event));
    uint32_t dropped = 0;
    bool taken;

    assert_non_null(event);
    atomic_init(&event->references, 1);
    event->kind = kind;
    event->episode = event->incident = episode;
    taken = event_queue_push(queue, event, user, &dropped);
    event_unref(event);
    if (!taken)
        assert_true(dropped != 0);
    return taken;
}

/* Takes the next event out: its kind and episode, or -1. */
static int take(struct event_queue *queue, const struct event_queue_entry *busy, size_t count)
{
    const struct event_queue_entry *next = event_queue_next(queue, busy, count, 2);
    struct event_queue_entry taken;
    int result;

    if (next == NULL)
        return -1;
    taken = event_queue_take(queue, next);
    result = (int)taken.event->episode * 10 + (int)taken.event->kind;
    event_unref(taken.event);
    return result;
}

static unsigned waiting_of(const struct event_queue *queue, uint32_t user)
{
    unsigned count = 0;

    for (size_t i = 0; i < queue->count; i++)
        count += queue->entries[i].user == user;
    return count;
}

TEST(order_of_one_user)
{
    struct event_queue queue = {.count = 0};
    struct event events[2] = {{.incident = 7}, {.incident = 8}};
    const struct event_queue_entry busy[] = {{&events[0], ALICE, 0}, {&events[1], BOB, 0}};

    assert_int_equal(take(&queue, NULL, 0), -1);
    push(&queue, EVENT_BEGIN, 7, ALICE);
    push(&queue, EVENT_END, 7, ALICE);
    push(&queue, EVENT_BEGIN, 8, ALICE);
    push(&queue, EVENT_BEGIN, 9, ALICE);
    assert_int_equal(take(&queue, NULL, 0), 70 + EVENT_BEGIN);
    assert_int_equal(take(&queue, busy, 1), 80 + EVENT_BEGIN); /* the end of 7 waits, others do not */
    assert_int_equal(take(&queue, busy, 2), 90 + EVENT_BEGIN);
    assert_int_equal(take(&queue, busy, 2), -1);
    assert_int_equal(take(&queue, busy + 1, 1), 70 + EVENT_END);
    assert_int_equal(queue.count, 0);
}

TEST(users_take_turns)
{
    struct event_queue queue = {.count = 0};
    struct event events[2] = {{.incident = 90}, {.incident = 91}};
    const struct event_queue_entry busy[] = {{&events[0], ALICE, 0}, {&events[1], ALICE, 0}};

    for (uint64_t i = 1; i <= 4; i++)
        push(&queue, EVENT_BEGIN, i, ALICE);
    assert_int_equal(take(&queue, NULL, 0), 10 + EVENT_BEGIN);
    push(&queue, EVENT_BEGIN, 5, BOB);
    push(&queue, EVENT_BEGIN, 6, BOB);
    push(&queue, EVENT_BEGIN, 7, CAROL);
    assert_int_equal(take(&queue, busy, 2), 50 + EVENT_BEGIN); /* Alice has her two places */
    assert_int_equal(take(&queue, busy, 1), 20 + EVENT_BEGIN);
    assert_int_equal(take(&queue, NULL, 0), 70 + EVENT_BEGIN);
    assert_int_equal(take(&queue, NULL, 0), 30 + EVENT_BEGIN);
    assert_int_equal(take(&queue, NULL, 0), 60 + EVENT_BEGIN);
    assert_int_equal(take(&queue, NULL, 0), 40 + EVENT_BEGIN);
    push(&queue, EVENT_BEGIN, 8, ALICE); /* who has been silent has saved no turns */
    push(&queue, EVENT_BEGIN, 9, BOB);
    push(&queue, EVENT_BEGIN, 10, BOB);
    assert_int_equal(take(&queue, NULL, 0), 80 + EVENT_BEGIN);
    assert_int_equal(take(&queue, NULL, 0), 90 + EVENT_BEGIN);
    event_queue_clear(&queue);
}

TEST(room_for_ends)
{
    struct event_queue queue = {.count = 0};
    unsigned begins = 0, ends = 0;

    while (push(&queue, EVENT_BEGIN, ++begins, ALICE))
        ;
    assert_int_equal(begins - 1, EVENT_QUEUE_MAX - EVENT_QUEUE_ENDS);
    while (push(&queue, EVENT_END, ++ends, ALICE))
        ;
    assert_int_equal(ends - 1, EVENT_QUEUE_ENDS);
    assert_int_equal(queue.count, EVENT_QUEUE_MAX);
    assert_int_equal(take(&queue, NULL, 0), 10 + EVENT_BEGIN);
    assert_false(push(&queue, EVENT_BEGIN, 1, ALICE)); /* it is an end's place that was freed */
    assert_true(push(&queue, EVENT_END, 1, ALICE));
    assert_int_equal(event_queue_clear(&queue), EVENT_QUEUE_MAX); /* a leak would show under AddressSanitizer */
    assert_int_equal(queue.count, 0);
}

/* One user fills the queue; each event of another one takes the place of his latest, until they have as many. */
TEST(who_has_most_gives_way)
{
    struct event_queue queue = {.count = 0};
    unsigned half = (EVENT_QUEUE_MAX - EVENT_QUEUE_ENDS) / 2;
    uint32_t dropped = 0;
    struct event begin = {.kind = EVENT_BEGIN, .episode = 5000, .incident = 5000};

    for (unsigned i = 1; i <= 600; i++)
        push(&queue, EVENT_BEGIN, i, ALICE);
    atomic_init(&begin.references, 1);
    assert_false(event_queue_push(&queue, &begin, BOB, &dropped));
    assert_int_equal(dropped, ALICE);
    for (unsigned i = 1; i <= 600; i++)
        push(&queue, EVENT_BEGIN, 1000 + i, BOB);
    assert_int_equal(waiting_of(&queue, ALICE), half);
    assert_int_equal(waiting_of(&queue, BOB), half);
    assert_int_equal(take(&queue, NULL, 0), 10 + EVENT_BEGIN); /* her oldest ones are there */
    for (unsigned i = 1; i <= 600; i++)
        push(&queue, EVENT_END, i, ALICE);
    push(&queue, EVENT_END, 5000, BOB);
    push(&queue, EVENT_BEGIN, 5001, CAROL);
    push(&queue, EVENT_END, 5001, CAROL);
    assert_int_equal(waiting_of(&queue, CAROL), 2);
    assert_int_equal(queue.count, EVENT_QUEUE_MAX);
    event_queue_clear(&queue);
    assert_int_equal(atomic_load(&begin.references), 1);
}

/* Ends may fill the queue; they are no less one user's for that. */
TEST(ends_give_way_to_another_users_begin)
{
    struct event_queue queue = {.count = 0};

    for (unsigned i = 1; i <= EVENT_QUEUE_MAX; i++)
        assert_true(push(&queue, EVENT_END, i, ALICE));
    assert_false(push(&queue, EVENT_BEGIN, 1000, BOB));
    assert_int_equal(waiting_of(&queue, BOB), 1);
    assert_int_equal(queue.count, EVENT_QUEUE_MAX);
    event_queue_clear(&queue);
}
