/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector_size.c - memory of a million ids, after they are gone, and over a very long time.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "unit/detector_test.h"

#define MILLION 1000000u
#define BYTES_PER_ID 64u /* the limit */

static uint64_t now;
static size_t heap_before;

/* Returns the bytes on the heap if the allocator knows: not under a sanitizer. */
static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static int setup(void **state)
{
    now = 0;
    heap_before = heap_bytes();
    return make_detector(state);
}

/* The next scan: ids first, first + step ... of RING, all at the same progress. */
static struct detector_update scan_many(uint32_t first, uint32_t count, uint32_t step, uint64_t progress)
{
    struct rip_sample samples[256];
    struct detector_update update;
    size_t filled = 0;

    detector_begin(detector, now += INTERVAL);
    assert_int_equal(detector_ring(detector, RING, NULL, 0), 0);
    for (uint32_t i = 0; i < count; i++) {
        samples[filled++] = sample_of(first + i * step, progress);
        if (filled < 256 && i + 1 < count)
            continue;
        assert_int_equal(detector_feed(detector, samples, filled), 0);
        filled = 0;
    }
    detector_end(detector, &update);
    assert_int_equal(update.id_count, count);
    return update;
}

/* The detector takes at most BYTES_PER_ID for each of these ids. */
static void assert_bytes(const struct detector_update *update, size_t ids)
{
    assert_true(update->memory_bytes <= ids * BYTES_PER_ID);
    assert_true(heap_bytes() - heap_before <= ids * BYTES_PER_ID + 65536);
}

/* The memory is given back: there are at most a few ids. */
static void assert_small(const struct detector_update *update)
{
    assert_true(update->memory_bytes < 100000);
    assert_true(heap_bytes() - heap_before < 200000);
}

TEST(a_million_ids_take_at_most_64_bytes_each, setup, free_detector)
{
    struct detector_update update;

    for (uint64_t i = 0; i < 4; i++)
        update = scan_many(0, MILLION, 1, i);
    assert_bytes(&update, MILLION);
    assert_true(heap_bytes() == heap_before || update.memory_bytes + 65536 >= heap_bytes() - heap_before);
    update = scan_many(0, 10, 1, 9);
    assert_small(&update);
}

/* All ids are unclassified, and again after the rules were changed. */
TEST(unclassified_ids_take_no_more_memory, setup, free_detector)
{
    const struct detector_config config = {
        .interval_ns = INTERVAL, .stall_after_ns = STALL_AFTER, .rule_count = 1, .rule_thresholds_ns = {9000}};
    struct detector_update update;

    detector_configure(detector, &config);
    for (uint64_t i = 0; i < 6; i++) {
        if (i == 3)
            detector_configure(detector, &config);
        update = scan_many(0, MILLION, 1, i);
        assert_int_equal(update.unclassified_count, MILLION);
        assert_bytes(&update, MILLION);
    }
    update = scan_many(0, 10, 1, 9);
    update = scan_many(0, 10, 1, 10);
    assert_small(&update);
}

/* Each scan replaces half of the ids, in patterns that interleave old and new ids. */
TEST(ids_that_come_and_go_leave_nothing_behind, setup, free_detector)
{
    struct detector_update update;

    for (uint32_t i = 0; i < 12; i++) {
        update = scan_many(i % 3, MILLION / 2, 1 + i % 4, i);
        assert_true(update.memory_bytes <= (uint64_t)MILLION / 2 * BYTES_PER_ID);
    }
    update = scan_many(0, 0, 1, 0);
    assert_small(&update);
}

TEST(a_million_can_stall_and_move_on, setup, free_detector)
{
    struct detector_update update;

    for (int i = 0; i <= 5; i++)
        update = scan_many(0, MILLION, 1, 7);
    assert_int_equal(update.counts[ID_STALLED], MILLION);
    assert_int_equal(update.suspect_count, MILLION);
    assert_int_equal(update.event_count, MILLION);
    update = scan_many(0, MILLION, 1, 8);
    assert_int_equal(update.counts[ID_RUNNING], MILLION);
    assert_int_equal(update.event_count, MILLION);
    update = scan_many(0, MILLION, 1, 9);
    update = scan_many(0, MILLION, 1, 10);
    assert_bytes(&update, MILLION);
}

/* 50,000 scans, 14 hours: times stay exact, and the memory for old scans does not grow. */
TEST(old_scans_are_dropped_unless_in_use, setup, free_detector)
{
    struct rip_sample samples[40];
    struct detector_update update;
    struct detector_id id;

    for (uint32_t i = 0; i < 40; i++)
        samples[i] = sample_of(i, 1);
    samples[39].idle = 1;
    for (uint64_t s = 0; s < 50000; s++) {
        for (uint32_t i = 0; i < 39; i++) /* id i moves until scan 1000 * i, and is frozen then */
            samples[i].progress += s <= 1000 * (uint64_t)i;
        update = scan_with(s * INTERVAL, samples, 40);
        assert_true(update.memory_bytes < 200000);
    }
    for (uint32_t i = 0; i < 39; i++) {
        assert_int_equal(detector_find(detector, RING, i, 2, &id), 0);
        assert_int_equal(id.state, ID_STALLED);
        assert_int_equal(id.frozen_for_ns, (49999 - 1000 * (uint64_t)i) * INTERVAL);
        assert_int_equal(update.suspects[i].frozen_since_ns, 1000 * (uint64_t)i * INTERVAL);
        if (i)
            assert_int_equal(id.frozen_for_max_ns, (50000 - 1000 * (uint64_t)i) * INTERVAL);
    }
    assert_int_equal(detector_find(detector, RING, 39, 2, &id), 0);
    assert_int_equal(id.state, ID_IDLE);
}

TEST(a_thousand_rings, setup, free_detector)
{
    struct detector_update update;

    for (uint64_t s = 0; s < 20; s++) {
        detector_begin(detector, s * INTERVAL);
        for (uint32_t ring = 0; ring < 1000; ring++) {
            const struct rip_sample sample = sample_of(ring, ring % 2 ? 1 : s);

            if (s >= 10 && ring % 10 == s % 10)
                continue; /* another tenth of the rings is missing on each scan */
            assert_int_equal(detector_ring(detector, ring, NULL, 0), 0);
            assert_int_equal(detector_feed(detector, &sample, 1), 0);
        }
        detector_end(detector, &update);
        assert_int_equal(update.id_count, s >= 10 ? 900 : 1000);
        assert_int_equal(update.counts[ID_STALLED], s < 5 ? 0 : update.suspect_count);
    }
}
