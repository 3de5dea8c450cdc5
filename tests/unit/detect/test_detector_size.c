/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector_size.c - a million ids: memory while they live and after they went, and over a very long time.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "unit/detector_test.h"

#define MILLION 1000000u
#define BYTES_PER_ID 64u /* the bar */

/* Ids first, first + step ... of RING, all at the same progress. */
static struct detector_update scan_many(struct detector *detector, uint64_t now, uint32_t first, uint32_t count,
                                        uint32_t step, uint64_t progress)
{
    struct rip_sample samples[256];
    struct detector_update update;
    size_t filled = 0;

    detector_begin(detector, now);
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

/* What the heap holds, where the allocator knows: not under a sanitizer. */
static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

TEST(a_million_ids_take_at_most_64_bytes_each)
{
    const size_t before = heap_bytes();
    struct detector *detector = detector_make();
    struct detector_update update;
    uint64_t now = 0;

    for (uint64_t i = 0; i < 4; i++)
        update = scan_many(detector, now += INTERVAL, 0, MILLION, 1, i);
    assert_true(update.memory_bytes <= (uint64_t)MILLION * BYTES_PER_ID);
    assert_true(heap_bytes() - before <= (size_t)MILLION * BYTES_PER_ID + 65536);
    assert_true(heap_bytes() == before || update.memory_bytes + 65536 >= heap_bytes() - before);
    update = scan_many(detector, now += INTERVAL, 0, 10, 1, 9);
    assert_true(update.memory_bytes < 100000);
    assert_true(heap_bytes() - before < 200000);
    detector_free(detector);
}

/* All are unclassified, and again after a change of the rules. */
TEST(rules_do_not_take_more)
{
    const struct detector_config config = {
        .interval_ns = INTERVAL, .stall_after_ns = STALL_AFTER, .rule_count = 1, .rule_thresholds_ns = {9000}};
    const size_t before = heap_bytes();
    struct detector *detector = NULL;
    struct detector_update update;
    uint64_t now = 0;

    assert_int_equal(detector_new(&detector, &config), 0);
    for (uint64_t i = 0; i < 6; i++) {
        if (i == 3)
            detector_configure(detector, &config);
        update = scan_many(detector, now += INTERVAL, 0, MILLION, 1, i);
        assert_int_equal(update.unclassified_count, MILLION);
        assert_true(update.memory_bytes <= (uint64_t)MILLION * BYTES_PER_ID);
        assert_true(heap_bytes() - before <= (size_t)MILLION * BYTES_PER_ID + 65536);
    }
    update = scan_many(detector, now += INTERVAL, 0, 10, 1, 9);
    update = scan_many(detector, now += INTERVAL, 0, 10, 1, 10);
    assert_true(update.memory_bytes < 100000);
    assert_true(heap_bytes() - before < 200000);
    detector_free(detector);
}

/* Half of them are replaced on each scan, in patterns that interleave old and new. */
TEST(ids_that_come_and_go_leave_nothing_behind)
{
    const size_t before = heap_bytes();
    struct detector *detector = detector_make();
    struct detector_update update;
    uint64_t now = 0;

    for (uint32_t i = 0; i < 12; i++) {
        update = scan_many(detector, now += INTERVAL, i % 3, MILLION / 2, 1 + i % 4, i);
        assert_true(update.memory_bytes <= (uint64_t)MILLION / 2 * BYTES_PER_ID);
    }
    update = scan_many(detector, now += INTERVAL, 0, 0, 1, 0);
    assert_true(update.memory_bytes < 100000);
    assert_true(heap_bytes() - before < 200000);
    detector_free(detector);
}

TEST(a_million_can_stall_and_move_on)
{
    const size_t before = heap_bytes();
    struct detector *detector = detector_make();
    struct detector_update update;
    uint64_t now = 0;

    for (int i = 0; i <= 5; i++)
        update = scan_many(detector, now += INTERVAL, 0, MILLION, 1, 7);
    assert_int_equal(update.counts[ID_STALLED], MILLION);
    assert_int_equal(update.suspect_count, MILLION);
    assert_int_equal(update.event_count, MILLION);
    update = scan_many(detector, now += INTERVAL, 0, MILLION, 1, 8);
    assert_int_equal(update.counts[ID_RUNNING], MILLION);
    assert_int_equal(update.event_count, MILLION);
    update = scan_many(detector, now += INTERVAL, 0, MILLION, 1, 9);
    update = scan_many(detector, now += INTERVAL, 0, MILLION, 1, 10);
    assert_true(update.memory_bytes <= (uint64_t)MILLION * BYTES_PER_ID);
    assert_true(heap_bytes() - before <= (size_t)MILLION * BYTES_PER_ID + 65536);
    detector_free(detector);
}

/* Fifty thousand scans, fourteen hours: times stay right, and the memory of old scans does not grow. */
TEST(old_scans_are_forgotten_but_not_those_in_use)
{
    struct detector *detector = detector_make();
    struct rip_sample samples[40];
    struct detector_update update;
    struct detector_id id;

    for (uint32_t i = 0; i < 40; i++)
        samples[i] = sample_of(i, 1);
    samples[39].idle = 1;
    for (uint64_t s = 0; s < 50000; s++) {
        for (uint32_t i = 0; i < 39; i++) /* id i moves until scan 1000 i, and freezes then */
            samples[i].progress += s <= 1000 * (uint64_t)i;
        update = scan_with(detector, s * INTERVAL, samples, 40);
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
    detector_free(detector);
}

TEST(a_thousand_rings)
{
    struct detector *detector = detector_make();
    struct detector_update update;

    for (uint64_t s = 0; s < 20; s++) {
        detector_begin(detector, s * INTERVAL);
        for (uint32_t ring = 0; ring < 1000; ring++) {
            const struct rip_sample sample = sample_of(ring, ring % 2 ? 1 : s);

            if (s >= 10 && ring % 10 == s % 10)
                continue; /* a tenth of them is gone, another one each time */
            assert_int_equal(detector_ring(detector, ring, NULL, 0), 0);
            assert_int_equal(detector_feed(detector, &sample, 1), 0);
        }
        detector_end(detector, &update);
        assert_int_equal(update.id_count, s >= 10 ? 900 : 1000);
        assert_int_equal(update.counts[ID_STALLED], s < 5 ? 0 : update.suspect_count);
    }
    detector_free(detector);
}
