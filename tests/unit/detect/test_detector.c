/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector.c - each guarantee of detector.h by itself, with a handful of ids. See test_detector_model.c for all
 * of them at once.
 */
#include <errno.h>

#include "unit/detector_test.h"

/* It moves at 0, is seen frozen from 1000 on, and stalls at 6000. */
#define A_STALL                                                                                                        \
    SCAN(0, 0, AT, 1, BEFORE, "running 0-?"), SCAN(1000, 0, AT, 2, BEFORE, "running 0-1000"),                          \
        SCAN(6000, INTERVAL, AT, 2, BLOCKED, "stalled blocked 5000-6000 suspect; stalled blocked 5000 after 0")

/* One event, and no second one. */
LIFE(a_stall_begins_exactly_at_its_threshold) = {
    SCAN(0, 0, AT, 1, BEFORE, "running 0-?", .due = 5000),
    SCAN(1000, 0, AT, 2, BEFORE, "running 0-1000", .due = 6000),
    SCAN(5999, INTERVAL, AT, 2, BEFORE, "running 4999-5999", .due = 6000),
    SCAN(6000, 0, AT, 2, BEFORE, "stalled 5000-6000 suspect; stalled 5000 after 0", .due = UINT64_MAX),
    SCAN(9000, INTERVAL, AT, 2, BEFORE, "stalled 8000-9000 suspect"),
    LIFE_END,
};

LIFE(one_that_never_moved_has_no_known_maximum) = {
    SCAN(0, 0, AT, 2, BEFORE, "running 0-?"),
    SCAN(5000, INTERVAL, AT, 2, BEFORE, "stalled 5000-? suspect; stalled 5000 after ?"),
    LIFE_END,
};

/* The event has the time as last observed. */
LIFE(progress_ends_a_stall_at_once) = {
    A_STALL,
    SCAN(7000, 0, AT, 3, BEFORE, "running 0-1000; moved blocked 5000 after 0", .due = 12000),
    LIFE_END,
};

LIFE(the_verdict_is_what_it_is) = {
    A_STALL,
    SCAN(7000, 0, AT, 2, BEFORE, "stalled blocked 6000-7000 suspect"),
    SCAN(8000, 0, AT, 2, SPINNING, "stalled spinning 7000-8000 suspect"),
    LIFE_END,
};

/* One and a half intervals are not late, a clock that goes back is one that stands. */
LIFE(lateness) = {
    SCAN(70000, 0, AT, 1, BEFORE, "running 0-?"),
    SCAN(71500, 0, AT, 1, BEFORE, "running 1000-?"),
    SCAN(73001, 0, AT, 1, BEFORE, "late 501: running 2000-?"),
    SCAN(73000, 0, AT, 1, BEFORE, "running 2000-?"),
    LIFE_END,
};

LIFE(a_gap_counts_as_one_interval_at_most) = {
    SCAN(0, 0, AT, 1, BEFORE, "running 0-?"),
    SCAN(1000, 0, AT, 2, BEFORE, "running 0-1000"),
    SCAN(181000, 60000, AT, 2, BEFORE, "late 59000: running 3000-181000"),
    SCAN(241000, 0, AT, 2, BEFORE, "late 59000: running 4000-241000"),
    SCAN(242000, 0, AT, 2, BEFORE, "stalled 5000-242000 suspect; stalled 5000 after 0"),
    LIFE_END,
};

LIFE(no_stall_begins_on_a_late_scan) = {
    SCAN(0, 0, AT, 1, BEFORE, "running 0-?"),
    SCAN(1000, 0, AT, 2, BEFORE, "running 0-1000"),
    SCAN(5900, 980, AT, 2, BEFORE, "running 4900-5900"),
    SCAN(65900, 0, AT, 2, BEFORE, "late 59000: running 5900-65900", .due = 65900 + INTERVAL / 4),
    SCAN(66150, 0, AT, 2, BEFORE, "stalled 6150-66150 suspect; stalled 6150 after 0"),
    LIFE_END,
};

LIFE(a_stall_outlasts_a_late_scan) = {
    A_STALL,
    SCAN(90000, 0, AT, 2, BEFORE, "late 83000: stalled blocked 6000-90000 suspect"),
    LIFE_END,
};

/* It is known since when; and when the wait is over that counts, though the progress is the same. */
LIFE(idle_is_not_stuck) = {
    SCAN(0, 0, IDLE, 2, BEFORE, "idle 0-?", .due = UINT64_MAX),
    SCAN(100000, INTERVAL, IDLE, 2, BEFORE, "idle 100000-?", .due = UINT64_MAX),
    SCAN(101000, 0, AT, 2, BEFORE, "running 0-1000"),
    SCAN(105000, INTERVAL, AT, 2, BEFORE, "running 4000-5000"),
    SCAN(106000, 0, AT, 2, BEFORE, "stalled 5000-6000 suspect; stalled 5000 after 100000"),
    SCAN(107000, 0, IDLE, 2, BEFORE, "idle 0-1000; moved 5000 after 100000"),
    SCAN(110000, INTERVAL, IDLE, 2, BEFORE, "idle 3000-4000"),
    SCAN(111000, 0, IDLE, 3, BEFORE, "idle 0-1000"),
    LIFE_END,
};

/* It is no suspect for it, and stands still as long as it was idle; when it goes on, it is idle from then on. */
LIFE(stopped_outranks_idle) = {
    SCAN(0, 0, HALTED, 2, BEFORE, "stopped signal 0-?", .due = UINT64_MAX),
    SCAN(1000, 0, IDLE, 2, BEFORE, "idle 0-1000"),
    SCAN(3000, INTERVAL, IDLE, 2, BEFORE, "idle 2000-3000"),
    SCAN(4000, 0, HALTED, 2, BEFORE, "stopped signal 3000-4000", .due = UINT64_MAX),
    SCAN(20000, INTERVAL, HALTED, 2, BEFORE, "stopped signal 19000-20000"),
    SCAN(21000, 0, TRACED, 2, BEFORE, "stopped tracer 20000-21000"),
    SCAN(22000, 0, HALTED, 3, BEFORE, "stopped signal 0-1000"),
    SCAN(23000, 0, IDLE, 3, BEFORE, "idle 0-1000"),
    SCAN(24000, 0, AT, 3, BEFORE, "running 0-1000", .due = 29000),
    SCAN(29000, INTERVAL, AT, 3, BLOCKED, "stalled blocked 5000-6000 suspect; stalled blocked 5000 after 23000"),
    SCAN(30000, 0, HALTED, 3, BEFORE, "stopped signal 0-1000; moved blocked 5000 after 23000"),
    SCAN(31000, 0, DEAD, 3, BEFORE, "dead 0-1000 last stopped signal 1000"),
    LIFE_END,
};

/* It stands still from when it is found to be stuck, not since when it was idle; and ends when it is not. */
LIFE(stuck_is_not_idle) = {
    SCAN(0, 0, IDLE, 2, BEFORE, "idle 0-?", .due = UINT64_MAX),
    SCAN(50000, INTERVAL, AT_INPUT, 2, BEFORE, "idle 50000-?", .due = UINT64_MAX),
    SCAN(51000, 0, STUCK, 2, BEFORE, "running 0-1000", .due = 56000),
    SCAN(55000, INTERVAL, STUCK, 2, BEFORE, "running 4000-5000"),
    SCAN(56000, 0, STUCK, 2, BLOCKED, "stalled blocked 5000-6000 suspect; stalled blocked 5000 after 50000"),
    SCAN(57000, 0, STUCK, 2, BEFORE, "stalled blocked 6000-7000 suspect"),
    SCAN(58000, 0, IDLE, 2, BEFORE, "idle 0-1000; moved blocked 6000 after 50000"),
    SCAN(60000, INTERVAL, STUCK, 2, BEFORE, "running 1000-2000"),
    SCAN(61000, 0, HALTED, 2, BEFORE, "stopped signal 0-1000"),
    LIFE_END,
};

/* Who woke up in a process that was stopped at once is judged as others are. */
LIFE(a_stop_of_one_that_is_not_idle_any_more) = {
    SCAN(0, 0, IDLE, 2, BEFORE, "idle 0-?"),
    SCAN(9000, INTERVAL, HALTED, 2, BEFORE, "stopped signal 9000-?"),
    SCAN(10000, 0, AT, 2, STOPPED, "stopped signal 10000-? suspect"),
    SCAN(11000, 0, AT, 2, BLOCKED, "running 0-1000 suspect"),
    LIFE_END,
};

LIFE(another_generation_is_another_id) = {
    A_STALL,
    SCAN(7000, 0, REUSED, 2, BEFORE, "running 0-?; gone blocked 5000 after 0"),
    LIFE_END,
};

LIFE(an_id_that_leaves_is_gone) = {
    A_STALL,
    SCAN(7000, 0, MISSING, 0, BEFORE, "gone; gone blocked 5000 after 0"),
    SCAN(8000, 0, MISSING, 0, BEFORE, "gone"),
    SCAN(9000, 0, AT, 2, BEFORE, "running 0-?"),
    LIFE_END,
};

LIFE(an_id_goes_with_its_ring) = {
    A_STALL,
    SCAN(7000, 0, NO_RING, 0, BEFORE, "gone; gone blocked 5000 after 0"),
    LIFE_END,
};

LIFE(exited_ends_a_stall) = {
    A_STALL,
    SCAN(7000, 0, AT, 2, EXITED, "exited 6000-7000 suspect last stalled blocked 6000; gone blocked 6000 after 0"),
    SCAN(8000, 0, AT, 2, BEFORE, "exited 7000-8000 suspect last stalled blocked 7000"),
    SCAN(9000, 0, DEAD, 2, BEFORE, "dead 0-1000 last stalled blocked 8000"),
    LIFE_END,
};

LIFE(what_the_exited_were) = {
    A_STALL,
    SCAN(7000, 0, AT, 2, STOPPED, "stopped signal 6000-7000 suspect; stopped blocked 6000 after 0"),
    SCAN(8000, 0, AT, 2, EXITED, "exited 7000-8000 suspect last stopped signal 7000"),
    SCAN(9000, 0, AT, 3, BEFORE, "running 0-1000"),
    SCAN(14000, INTERVAL, AT, 3, EXITED, "exited 5000-6000 suspect last running 5000"),
    SCAN(15000, 0, DEAD, 3, BEFORE, "dead 0-1000 last running 6000"),
    LIFE_END,
};

LIFE(an_exited_id_was_idle_as_declared) = {
    A_STALL,
    SCAN(7000, 0, AT, 2, DECLARED, "idle declared 6000-7000 suspect; moved blocked 6000 after 0"),
    SCAN(8000, 0, AT, 2, EXITED, "exited 7000-8000 suspect last idle declared 7000"),
    SCAN(9000, 0, DEAD, 2, BEFORE, "dead 0-1000 last idle declared 8000"),
    LIFE_END,
};

LIFE(the_dead_are_no_suspects) = {
    A_STALL,
    SCAN(7000, 0, DEAD, 2, BEFORE, "dead 0-1000 last stalled blocked 6000; gone blocked 5000 after 0"),
    SCAN(12000, INTERVAL, DEAD, 2, BEFORE, "dead 5000-6000 last stalled blocked 6000"),
    SCAN(20000, INTERVAL, DEAD, 3, BEFORE, "dead 13000-14000 last stalled blocked 6000"),
    SCAN(21000, 0, AT, 3, BEFORE, "running 0-1000"),
    SCAN(21000, 0, AT, 3, BEFORE, "running 0-1000"),
    LIFE_END,
};

LIFE(time_stopped_does_not_count) = {
    A_STALL,
    SCAN(7000, 0, AT, 2, STOPPED, "stopped signal 6000-7000 suspect; stopped blocked 6000 after 0"),
    SCAN(8000, 0, AT, 2, BEFORE, "stopped signal 7000-8000 suspect"),
    SCAN(9000, 0, AT, 2, BLOCKED, "running 0-1000 suspect", .due = 14000),
    SCAN(13000, INTERVAL, AT, 2, BLOCKED, "running 4000-5000"),
    SCAN(14000, 0, AT, 2, BLOCKED, "stalled blocked 5000-6000 suspect; stalled blocked 5000 after 8000"),
    LIFE_END,
};

LIFE(one_stopped_from_the_start_never_stalls) = {
    SCAN(0, 0, AT, 2, STOPPED, "running 0-?"),
    SCAN(4000, INTERVAL, AT, 2, STOPPED, "running 4000-?"),
    SCAN(20000, INTERVAL, AT, 2, STOPPED, "stopped signal 20000-? suspect"),
    LIFE_END,
};

/* When its ring is read again its count proves that it stood still. */
LIFE(a_stall_outlasts_a_skipped_ring) = {
    A_STALL,
    SCAN(9000, INTERVAL, SKIPPED, 0, STOPPED, "stalled blocked 5000-6000 suspect unread"),
    SCAN(10000, 0, AT, 2, BEFORE, "stalled blocked 9000-10000 suspect"),
    SCAN(12000, INTERVAL, SKIPPED, 0, BEFORE, "stalled blocked 9000-10000 suspect unread"),
    SCAN(13000, 0, AT, 3, BEFORE, "running 0-3000; moved blocked 9000 after 0"),
    LIFE_END,
};

LIFE(no_stall_begins_while_a_ring_is_skipped) = {
    SCAN(0, 0, AT, 1, BEFORE, "running 0-?"),
    SCAN(1000, 0, AT, 2, BEFORE, "running 0-1000"),
    SCAN(7000, INTERVAL, SKIPPED, 0, BEFORE, "running 0-1000"),
    SCAN(8000, 0, AT, 2, BEFORE, "stalled 7000-8000 suspect; stalled 7000 after 0"),
    LIFE_END,
};

LIFE(one_that_moved_while_its_ring_was_skipped) = {
    SCAN(0, 0, AT, 1, BEFORE, "running 0-?"),
    SCAN(1000, 0, AT, 2, BEFORE, "running 0-1000"),
    SCAN(4000, INTERVAL, SKIPPED, 0, BEFORE, "running 0-1000"),
    SCAN(5000, 0, AT, 3, BEFORE, "running 0-4000"),
    SCAN(9000, INTERVAL, AT, 3, BEFORE, "running 4000-8000"),
    SCAN(10000, 0, AT, 3, BEFORE, "stalled 5000-9000 suspect; stalled 5000 after 1000"),
    LIFE_END,
};

LIFE(states_outlast_a_skipped_ring) = {
    A_STALL,
    SCAN(7000, 0, AT, 2, STOPPED, "stopped signal 6000-7000 suspect; stopped blocked 6000 after 0"),
    SCAN(8000, 0, SKIPPED, 0, BLOCKED, "stopped signal 6000-7000 suspect unread"),
    SCAN(9000, 0, AT, 2, BLOCKED, "running 0-2000 suspect"),
    SCAN(10000, 0, IDLE, 3, BEFORE, "idle 0-1000"),
    SCAN(11000, 0, SKIPPED, 0, BEFORE, "idle 0-1000"),
    SCAN(12000, 0, DEAD, 3, BEFORE, "dead 0-2000 last idle 2000"),
    SCAN(13000, 0, SKIPPED, 0, BEFORE, "dead 0-2000 last idle 2000"),
    SCAN(14000, 0, NO_RING, 0, BEFORE, "gone"),
    SCAN(15000, 0, SKIPPED, 0, BEFORE, "gone"),
    LIFE_END,
};

/* An 8-bit or a 32-bit comparison takes each of these for frozen. */
TEST(progress_by_any_power_of_two_is_progress)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        struct detector *detector = detector_make();
        struct rip_sample sample = sample_of(7, 5);

        for (uint64_t now = 0; now < 20000; now += INTERVAL) {
            assert_int_equal(scan_with(detector, now, &sample, 1).suspect_count, 0);
            sample.progress += UINT64_C(1) << bit;
        }
        detector_free(detector);
    }
}

TEST(a_process_beyond_the_records_is_not_dead)
{
    struct detector *detector = detector_make();
    const struct rip_sample samples[2] = {sample_of(7, 2), {.slot = 9, .process = 1}};
    const uint8_t dead[1] = {1};
    struct detector_update update;

    for (uint64_t now = 0; now < 2000; now += INTERVAL) {
        detector_begin(detector, now);
        detector_ring(detector, RING, dead, 1);
        detector_feed(detector, samples, 2);
        detector_end(detector, &update);
        assert_int_equal(update.counts[ID_DEAD], 1);
        assert_int_equal(update.counts[ID_RUNNING], 1);
    }
    detector_free(detector);
}

TEST(the_next_scan_is_due_when_the_first_id_is)
{
    struct detector *detector = detector_make();
    struct rip_sample samples[3] = {sample_of(1, 1), sample_of(2, 1), sample_of(3, 1)};
    struct detector_update update;

    assert_true(detector_next_due(detector) == UINT64_MAX);
    scan_with(detector, 10000, samples, 3);
    assert_int_equal(detector_next_due(detector), 15000);
    samples[0].progress = samples[2].progress = 2;
    scan_with(detector, 10900, samples, 3);
    assert_int_equal(detector_next_due(detector), 15000);
    samples[1].progress = 2;
    scan_with(detector, 11800, samples, 3);
    assert_int_equal(detector_next_due(detector), 15900);
    scan_with(detector, 12800, samples, 3);
    scan_with(detector, 14200, samples, 3); /* 400 of this gap do not count */
    assert_int_equal(detector_next_due(detector), 16300);
    scan_with(detector, 15200, samples, 3);
    samples[0].progress = 3;
    update = scan_with(detector, 16300, samples, 3);
    assert_int_equal(update.suspect_count, 0); /* 100 too few: the daemon came late by those */
    update = scan_with(detector, detector_next_due(detector), samples, 3);
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.suspects[0].slot, 3);
    detector_free(detector);
}

static int collect(void *context, uint32_t slot, uint32_t generation, const struct detector_id *id)
{
    uint64_t *sum = context;

    assert_int_equal(generation, 2);
    *sum = *sum * 100 + slot;
    return id->progress == 99 ? -7 : 0;
}

TEST(what_is_known_of_a_ring)
{
    struct detector *detector = detector_make();
    struct rip_sample samples[3] = {sample_of(5, 1), sample_of(7, 2), sample_of(11, 1)};
    struct detector_id id;
    uint64_t sum = 0;

    scan_with(detector, 7000, samples, 3);
    assert_int_equal(detector_find(detector, RING, 7, 2, &id), 0);
    assert_int_equal(id.progress, 2);
    assert_int_equal(detector_find(detector, RING, 7, 4, &id), -ENOENT);
    assert_int_equal(detector_find(detector, RING, 6, 2, &id), -ENOENT);
    assert_int_equal(detector_find(detector, RING + 1, 7, 2, &id), -ENOENT);
    assert_int_equal(detector_visit(detector, RING, collect, &sum), 0);
    assert_int_equal(sum, 50711);
    samples[1].progress = 99;
    scan_with(detector, 8000, samples, 3);
    sum = 0;
    assert_int_equal(detector_visit(detector, RING, collect, &sum), -7);
    assert_int_equal(sum, 507);
    assert_int_equal(detector_visit(detector, RING + 1, collect, &sum), 0);
    detector_free(detector);
}

TEST(calls_out_of_order_are_refused)
{
    struct detector *detector = detector_make();
    const struct rip_sample samples[5] = {sample_of(9, 1), sample_of(3, 1), sample_of(3, 1), sample_of(10, 1),
                                          sample_of(10, 2)};
    struct detector_update update;

    detector_begin(detector, 0);
    assert_int_equal(detector_feed(detector, samples, 1), -EINVAL);
    assert_int_equal(detector_ring(detector, 5, NULL, 0), 0);
    assert_int_equal(detector_feed(detector, samples, 5), 0); /* these do not ascend: ignored, and no harm done */
    assert_int_equal(detector_ring(detector, 5, NULL, 0), -EINVAL);
    assert_int_equal(detector_ring(detector, 4, NULL, 0), -EINVAL);
    assert_int_equal(detector_skip(detector, 5), -EINVAL);
    assert_int_equal(detector_feed(detector, samples, 1), -EINVAL);
    assert_int_equal(detector_ring(detector, 6, NULL, 0), 0);
    detector_end(detector, &update);
    assert_int_equal(update.id_count, 2);
    detector_begin(detector, 1000);
    assert_int_equal(detector_skip(detector, 5), 0);
    assert_int_equal(detector_skip(detector, 5), -EINVAL);
    assert_int_equal(detector_ring(detector, 5, NULL, 0), -EINVAL);
    assert_int_equal(detector_skip(detector, 6), 0);
    detector_end(detector, &update);
    assert_int_equal(update.id_count, 2);
    detector_free(detector);
    detector_free(NULL);
}
