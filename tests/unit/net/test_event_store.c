/* SPDX-License-Identifier: Apache-2.0 */
/* test_event_store.c - the newest events are held, in order, limited in number and size: ripd/net/event_store.c. */
#include <stdbool.h>

#include <errno.h>

#include "net/event_store.h"
#include "support/test.h"
#include "unit/sample_event.h"

/* All events from this one on are held, and their sizes are counted. */
static void assert_held_from(const struct event_store *store, uint64_t oldest)
{
    size_t bytes = 0;

    assert_int_equal(event_store_oldest(store), oldest);
    for (size_t i = 0; i < store->count; i++) {
        const struct event *event = event_store_at(store, i);

        assert_int_equal(event->sequence, oldest + i);
        assert_int_equal(event_store_find(store, oldest + i), i);
        bytes += sizeof(*event) + event->text_bytes + 1;
    }
    assert_int_equal(bytes, store->bytes);
}

TEST(empty)
{
    struct event_store store = {0};

    assert_int_equal(event_store_oldest(&store), 1);
    assert_int_equal(event_store_find(&store, 1), 0);
    event_store_done(&store);
}

TEST(number_is_bounded)
{
    struct event_store store = {0};
    uint64_t last = 2 * EVENT_STORE_COUNT_MAX + 77;

    for (uint64_t i = 1; i <= last; i++)
        assert_int_equal(event_store_add(&store, sample_event(i, 10)), 0);
    assert_int_equal(store.count, EVENT_STORE_COUNT_MAX);
    assert_int_equal(store.newest_sequence, last);
    assert_held_from(&store, last - EVENT_STORE_COUNT_MAX + 1);
    assert_int_equal(event_store_find(&store, 1), 0);
    assert_int_equal(event_store_find(&store, last + 1), store.count);
    event_store_done(&store);
    assert_int_equal(store.bytes, 0);
}

TEST(bytes_are_bounded)
{
    struct event_store store = {0};

    for (uint64_t i = 1; i <= 100; i++) {
        event_store_add(&store, sample_event(i, EVENT_STORE_BYTES_MAX / 10));
        assert_true(store.bytes <= EVENT_STORE_BYTES_MAX);
    }
    assert_in_range(store.count, 8, 9);
    assert_held_from(&store, 101 - store.count);
    event_store_add(&store, sample_event(101, EVENT_STORE_BYTES_MAX + 1));
    assert_int_equal(store.count, 1); /* the newest, whatever its size */
    assert_held_from(&store, 101);
    event_store_done(&store);
}

static int add(struct event_store *store, uint64_t sequence, uint32_t uid, size_t text_bytes)
{
    struct event *event = sample_event(sequence, text_bytes);

    event->uid = uid;
    return event_store_add(store, event);
}

/* The user with the most events, or bytes, loses its oldest event. */
TEST(the_user_with_most_loses_events)
{
    struct event_store store = {0};
    const uint64_t honest = 100, last = 3 * EVENT_STORE_COUNT_MAX;

    for (uint64_t i = 1; i <= last; i++)
        assert_int_equal(add(&store, i, i <= honest ? 1000 : 1001, 10), 0);
    assert_int_equal(store.count, EVENT_STORE_COUNT_MAX);
    for (size_t i = 0; i < store.count; i++) {
        uint64_t sequence = i < honest ? i + 1 : last - store.count + i + 1;

        assert_int_equal(event_store_at(&store, i)->sequence, sequence);
        assert_int_equal(event_store_find(&store, sequence), i);
    }
    assert_int_equal(add(&store, last + 1, 1002, EVENT_STORE_BYTES_MAX / 2), 0);
    assert_int_equal(event_store_at(&store, 0)->sequence, 1);
    assert_int_equal(add(&store, last + 2, 1002, EVENT_STORE_BYTES_MAX / 2 + 1), 0); /* more than all of the others */
    assert_int_equal(event_store_at(&store, 0)->sequence, 1);
    assert_int_equal(event_store_find(&store, last + 1), store.count - 1);
    event_store_done(&store);
    assert_int_equal(store.bytes, 0);
}

TEST(only_newer_events_are_added)
{
    struct event_store store = {0}, other = {0};

    assert_int_equal(event_store_add(&store, sample_event(5, 10)), 0);
    assert_int_equal(event_store_add(&store, sample_event(5, 10)), -EEXIST);
    assert_int_equal(event_store_add(&store, sample_event(4, 10)), -EEXIST);
    assert_int_equal(event_store_add(&store, sample_event(9, 10)), 0); /* 6 to 8 were lost before */
    assert_int_equal(event_store_find(&store, 6), 1);
    event_store_add(&other, sample_event(9, 10));
    event_store_add(&other, sample_event(10, 10));
    event_store_move(&store, &other);
    assert_int_equal(store.count, 3);
    assert_int_equal(store.newest_sequence, 10);
    assert_int_equal(other.count, 0);
    event_store_done(&store);
    event_store_done(&other);
}
