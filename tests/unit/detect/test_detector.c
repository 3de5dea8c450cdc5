/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector.c - each guarantee of detector.h alone, with a few ids. test_detector_model.c has all of them together.
 */
#include <errno.h>

#include "unit/detector_test.h"

/* The id moves at 0, is frozen from 1000 on, and stalls at 6000. */
#define A_STALL                                                                                                        \
    SCAN(0, AT, 1, "running 0-?"), SCAN(1000, AT, 2, "running 0-1000"),                                                \
        SCAN(6000, AT, 2, "stalled blocked 5000-6000 suspect; stalled blocked 5000 after 0", .every = INTERVAL,        \
             .verdict = BLOCKED)

/* There is exactly one event. */
LIFE(a_stall_begins_exactly_at_its_threshold) = {
    SCAN(0, AT, 1, "running 0-?", .due = 5000),
    SCAN(1000, AT, 2, "running 0-1000", .due = 6000),
    SCAN(5999, AT, 2, "running 4999-5999", .every = INTERVAL, .due = 6000),
    SCAN(6000, AT, 2, "stalled 5000-6000 suspect; stalled 5000 after 0", .due = UINT64_MAX),
    SCAN(9000, AT, 2, "stalled 8000-9000 suspect", .every = INTERVAL),
};

LIFE(an_id_that_never_moved_has_no_known_maximum) = {
    SCAN(0, AT, 2, "running 0-?"),
    SCAN(5000, AT, 2, "stalled 5000-? suspect; stalled 5000 after ?", .every = INTERVAL),
};

/* The event has the duration of the last observation. */
LIFE(progress_ends_a_stall_at_once) = {
    A_STALL,
    SCAN(7000, AT, 3, "running 0-1000; moved blocked 5000 after 0", .due = 12000),
};

LIFE(the_verdict_becomes_the_cause) = {
    A_STALL,
    SCAN(7000, AT, 2, "stalled blocked 6000-7000 suspect"),
    SCAN(8000, AT, 2, "stalled spinning 7000-8000 suspect", .verdict = SPINNING),
};

/* One and a half intervals are not late. A clock that goes back counts as one that stands still. */
LIFE(lateness) = {
    SCAN(70000, AT, 1, "running 0-?"),
    SCAN(71500, AT, 1, "running 1000-?"),
    SCAN(73001, AT, 1, "late 501: running 2000-?"),
    SCAN(73000, AT, 1, "running 2000-?"),
};

LIFE(a_gap_counts_as_one_interval_at_most) = {
    SCAN(0, AT, 1, "running 0-?"),
    SCAN(1000, AT, 2, "running 0-1000"),
    SCAN(181000, AT, 2, "late 59000: running 3000-181000", .every = 60000),
    SCAN(241000, AT, 2, "late 59000: running 4000-241000"),
    SCAN(242000, AT, 2, "stalled 5000-242000 suspect; stalled 5000 after 0"),
};

LIFE(no_stall_begins_on_a_late_scan) = {
    SCAN(0, AT, 1, "running 0-?"),
    SCAN(1000, AT, 2, "running 0-1000"),
    SCAN(5900, AT, 2, "running 4900-5900", .every = 980),
    SCAN(65900, AT, 2, "late 59000: running 5900-65900", .due = 65900 + INTERVAL / 4),
    SCAN(66150, AT, 2, "stalled 6150-66150 suspect; stalled 6150 after 0"),
};

LIFE(a_stall_outlasts_a_late_scan) = {
    A_STALL,
    SCAN(90000, AT, 2, "late 83000: stalled blocked 6000-90000 suspect"),
};

/* The time of idling is known. The end of idling counts as a move, although the progress is the same. */
LIFE(idle_is_not_stuck) = {
    SCAN(0, IDLE, 2, "idle 0-?", .due = UINT64_MAX),
    SCAN(100000, IDLE, 2, "idle 100000-?", .every = INTERVAL, .due = UINT64_MAX),
    SCAN(101000, AT, 2, "running 0-1000"),
    SCAN(105000, AT, 2, "running 4000-5000", .every = INTERVAL),
    SCAN(106000, AT, 2, "stalled 5000-6000 suspect; stalled 5000 after 100000"),
    SCAN(107000, IDLE, 2, "idle 0-1000; moved 5000 after 100000"),
    SCAN(110000, IDLE, 2, "idle 3000-4000", .every = INTERVAL),
    SCAN(111000, IDLE, 3, "idle 0-1000"),
};

/* A stopped id that was idle is no suspect; its time of idling goes on. When it is continued, it is idle anew. */
LIFE(stopped_outranks_idle) = {
    SCAN(0, HALTED, 2, "stopped signal 0-?", .due = UINT64_MAX),
    SCAN(1000, IDLE, 2, "idle 0-1000"),
    SCAN(3000, IDLE, 2, "idle 2000-3000", .every = INTERVAL),
    SCAN(4000, HALTED, 2, "stopped signal 3000-4000", .due = UINT64_MAX),
    SCAN(20000, HALTED, 2, "stopped signal 19000-20000", .every = INTERVAL),
    SCAN(21000, TRACED, 2, "stopped tracer 20000-21000"),
    SCAN(22000, HALTED, 3, "stopped signal 0-1000"),
    SCAN(23000, IDLE, 3, "idle 0-1000"),
    SCAN(24000, AT, 3, "running 0-1000", .due = 29000),
    SCAN(29000, AT, 3, "stalled blocked 5000-6000 suspect; stalled blocked 5000 after 23000", .every = INTERVAL,
         .verdict = BLOCKED),
    SCAN(30000, HALTED, 3, "stopped signal 0-1000; moved blocked 5000 after 23000"),
    SCAN(31000, DEAD, 3, "dead 0-1000 last stopped signal 1000"),
};

/* An id in a stuck process is frozen since the process was found stuck, not since the id is idle. */
LIFE(stuck_is_not_idle) = {
    SCAN(0, IDLE, 2, "idle 0-?", .due = UINT64_MAX),
    SCAN(50000, AT_INPUT, 2, "idle 50000-?", .every = INTERVAL, .due = UINT64_MAX),
    SCAN(51000, STUCK, 2, "running 0-1000", .due = 56000),
    SCAN(55000, STUCK, 2, "running 4000-5000", .every = INTERVAL),
    SCAN(56000, STUCK, 2, "stalled blocked 5000-6000 suspect; stalled blocked 5000 after 50000", .verdict = BLOCKED),
    SCAN(57000, STUCK, 2, "stalled blocked 6000-7000 suspect"),
    SCAN(58000, IDLE, 2, "idle 0-1000; moved blocked 6000 after 50000"),
    SCAN(60000, STUCK, 2, "running 1000-2000", .every = INTERVAL),
    SCAN(61000, HALTED, 2, "stopped signal 0-1000"),
};

/* An id that woke up in a process that was stopped at once is judged like others. */
LIFE(a_stop_of_an_id_that_is_not_idle_any_more) = {
    SCAN(0, IDLE, 2, "idle 0-?"),
    SCAN(9000, HALTED, 2, "stopped signal 9000-?", .every = INTERVAL),
    SCAN(10000, AT, 2, "stopped signal 10000-? suspect", .verdict = STOPPED),
    SCAN(11000, AT, 2, "running 0-1000 suspect", .verdict = BLOCKED),
};

LIFE(another_generation_is_another_id) = {
    A_STALL,
    SCAN(7000, REUSED, 2, "running 0-?; gone blocked 5000 after 0"),
};

LIFE(an_id_that_leaves_is_gone) = {
    A_STALL,
    SCAN(7000, MISSING, 0, "gone; gone blocked 5000 after 0"),
    SCAN(8000, MISSING, 0, "gone"),
    SCAN(9000, AT, 2, "running 0-?"),
};

LIFE(an_id_goes_with_its_ring) = {
    A_STALL,
    SCAN(7000, NO_RING, 0, "gone; gone blocked 5000 after 0"),
};

LIFE(exited_ends_a_stall) = {
    A_STALL,
    SCAN(7000, AT, 2, "exited 6000-7000 suspect last stalled blocked 6000; gone blocked 6000 after 0",
         .verdict = EXITED),
    SCAN(8000, AT, 2, "exited 7000-8000 suspect last stalled blocked 7000"),
    SCAN(9000, DEAD, 2, "dead 0-1000 last stalled blocked 8000"),
};

LIFE(an_exited_id_keeps_its_last_state) = {
    A_STALL,
    SCAN(7000, AT, 2, "stopped signal 6000-7000 suspect; stopped blocked 6000 after 0", .verdict = STOPPED),
    SCAN(8000, AT, 2, "exited 7000-8000 suspect last stopped signal 7000", .verdict = EXITED),
    SCAN(9000, AT, 3, "running 0-1000"),
    SCAN(14000, AT, 3, "exited 5000-6000 suspect last running 5000", .every = INTERVAL, .verdict = EXITED),
    SCAN(15000, DEAD, 3, "dead 0-1000 last running 6000"),
};

LIFE(an_exited_id_was_idle_as_declared) = {
    A_STALL,
    SCAN(7000, AT, 2, "idle declared 6000-7000 suspect; moved blocked 6000 after 0", .verdict = DECLARED),
    SCAN(8000, AT, 2, "exited 7000-8000 suspect last idle declared 7000", .verdict = EXITED),
    SCAN(9000, DEAD, 2, "dead 0-1000 last idle declared 8000"),
};

LIFE(the_dead_are_no_suspects) = {
    A_STALL,
    SCAN(7000, DEAD, 2, "dead 0-1000 last stalled blocked 6000; gone blocked 5000 after 0"),
    SCAN(12000, DEAD, 2, "dead 5000-6000 last stalled blocked 6000", .every = INTERVAL),
    SCAN(20000, DEAD, 3, "dead 13000-14000 last stalled blocked 6000", .every = INTERVAL),
    SCAN(21000, AT, 3, "running 0-1000"),
    SCAN(21000, AT, 3, "running 0-1000"),
};

LIFE(time_stopped_does_not_count) = {
    A_STALL,
    SCAN(7000, AT, 2, "stopped signal 6000-7000 suspect; stopped blocked 6000 after 0", .verdict = STOPPED),
    SCAN(8000, AT, 2, "stopped signal 7000-8000 suspect"),
    SCAN(9000, AT, 2, "running 0-1000 suspect", .verdict = BLOCKED, .due = 14000),
    SCAN(13000, AT, 2, "running 4000-5000", .every = INTERVAL, .verdict = BLOCKED),
    SCAN(14000, AT, 2, "stalled blocked 5000-6000 suspect; stalled blocked 5000 after 8000", .verdict = BLOCKED),
};

LIFE(an_id_stopped_from_the_start_never_stalls) = {
    SCAN(0, AT, 2, "running 0-?", .verdict = STOPPED),
    SCAN(4000, AT, 2, "running 4000-?", .every = INTERVAL, .verdict = STOPPED),
    SCAN(20000, AT, 2, "stopped signal 20000-? suspect", .every = INTERVAL, .verdict = STOPPED),
};

/* When the ring is read again, the progress proves that the id was frozen. */
LIFE(a_stall_outlasts_a_skipped_ring) = {
    A_STALL,
    SCAN(9000, SKIPPED, 0, "stalled blocked 5000-6000 suspect unread", .every = INTERVAL, .verdict = STOPPED),
    SCAN(10000, AT, 2, "stalled blocked 9000-10000 suspect"),
    SCAN(12000, SKIPPED, 0, "stalled blocked 9000-10000 suspect unread", .every = INTERVAL),
    SCAN(13000, AT, 3, "running 0-3000; moved blocked 9000 after 0"),
};

LIFE(no_stall_begins_while_a_ring_is_skipped) = {
    SCAN(0, AT, 1, "running 0-?"),
    SCAN(1000, AT, 2, "running 0-1000"),
    SCAN(7000, SKIPPED, 0, "running 0-1000", .every = INTERVAL),
    SCAN(8000, AT, 2, "stalled 7000-8000 suspect; stalled 7000 after 0"),
};

LIFE(an_id_that_moved_while_its_ring_was_skipped) = {
    SCAN(0, AT, 1, "running 0-?"),
    SCAN(1000, AT, 2, "running 0-1000"),
    SCAN(4000, SKIPPED, 0, "running 0-1000", .every = INTERVAL),
    SCAN(5000, AT, 3, "running 0-4000"),
    SCAN(9000, AT, 3, "running 4000-8000", .every = INTERVAL),
    SCAN(10000, AT, 3, "stalled 5000-9000 suspect; stalled 5000 after 1000"),
};

LIFE(states_outlast_a_skipped_ring) = {
    A_STALL,
    SCAN(7000, AT, 2, "stopped signal 6000-7000 suspect; stopped blocked 6000 after 0", .verdict = STOPPED),
    SCAN(8000, SKIPPED, 0, "stopped signal 6000-7000 suspect unread", .verdict = BLOCKED),
    SCAN(9000, AT, 2, "running 0-2000 suspect", .verdict = BLOCKED),
    SCAN(10000, IDLE, 3, "idle 0-1000"),
    SCAN(11000, SKIPPED, 0, "idle 0-1000"),
    SCAN(12000, DEAD, 3, "dead 0-2000 last idle 2000"),
    SCAN(13000, SKIPPED, 0, "dead 0-2000 last idle 2000"),
    SCAN(14000, NO_RING, 0, "gone"),
    SCAN(15000, SKIPPED, 0, "gone"),
};

/* An 8-bit or a 32-bit comparison would take some of these ids for frozen. */
TEST(progress_by_any_power_of_two_is_progress, make_detector, free_detector)
{
    for (uint32_t bit = 0; bit < 64; bit++) {
        struct rip_sample sample = sample_of(bit, 5);

        for (int scan = 0; scan < 20; scan++) {
            assert_int_equal(scan_with((20 * bit + (uint64_t)scan) * INTERVAL, &sample, 1).suspect_count, 0);
            sample.progress += UINT64_C(1) << bit;
        }
    }
}

/* A process whose condition is not given is alive. */
TEST(a_process_beyond_the_records_is_not_dead, make_detector, free_detector)
{
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
}

TEST(the_next_scan_is_due_when_the_first_id_is, make_detector, free_detector)
{
    struct rip_sample samples[3] = {sample_of(1, 1), sample_of(2, 1), sample_of(3, 1)};
    struct detector_update update;

    assert_true(detector_next_due(detector) == UINT64_MAX);
    scan_with(10000, samples, 3);
    assert_int_equal(detector_next_due(detector), 15000);
    samples[0].progress = samples[2].progress = 2;
    scan_with(10900, samples, 3);
    assert_int_equal(detector_next_due(detector), 15000);
    samples[1].progress = 2;
    scan_with(11800, samples, 3);
    assert_int_equal(detector_next_due(detector), 15900);
    scan_with(12800, samples, 3);
    scan_with(14200, samples, 3); /* 400 of this gap do not count: longer than an interval */
    assert_int_equal(detector_next_due(detector), 16300);
    scan_with(15200, samples, 3);
    samples[0].progress = 3;
    update = scan_with(16300, samples, 3);
    assert_int_equal(update.suspect_count, 0); /* 100 too few: the scan was late by that */
    update = scan_with(detector_next_due(detector), samples, 3);
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.suspects[0].slot, 3);
}

static int collect(void *context, uint32_t slot, uint32_t generation, const struct detector_id *id)
{
    uint64_t *sum = context;

    assert_int_equal(generation, 2);
    *sum = *sum * 100 + slot;
    return id->progress == 99 ? -7 : 0;
}

TEST(ids_of_a_ring_can_be_found_and_visited, make_detector, free_detector)
{
    struct rip_sample samples[3] = {sample_of(5, 1), sample_of(7, 2), sample_of(11, 1)};
    struct detector_id id;
    uint64_t sum = 0;

    scan_with(7000, samples, 3);
    assert_int_equal(detector_find(detector, RING, 7, 2, &id), 0);
    assert_int_equal(id.progress, 2);
    assert_int_equal(detector_find(detector, RING, 7, 4, &id), -ENOENT);
    assert_int_equal(detector_find(detector, RING, 6, 2, &id), -ENOENT);
    assert_int_equal(detector_find(detector, RING + 1, 7, 2, &id), -ENOENT);
    assert_int_equal(detector_visit(detector, RING, collect, &sum), 0);
    assert_int_equal(sum, 50711);
    samples[1].progress = 99;
    scan_with(8000, samples, 3);
    sum = 0;
    assert_int_equal(detector_visit(detector, RING, collect, &sum), -7);
    assert_int_equal(sum, 507);
    assert_int_equal(detector_visit(detector, RING + 1, collect, &sum), 0);
}

/* The times of an id are those of the last reading of its ring. */
TEST(when_a_skipped_ring_was_read, make_detector, free_detector)
{
    const struct rip_sample sample = sample_of(7, 1);
    struct detector_update update;
    struct detector_id id;

    for (uint64_t now = 0; now <= 8000; now += INTERVAL)
        scan_with(now, &sample, 1);
    for (uint64_t now = 9000; now <= 11000; now += INTERVAL) {
        detector_begin(detector, now);
        assert_int_equal(detector_skip(detector, RING), 0);
        detector_end(detector, &update);
    }
    assert_int_equal(detector_find(detector, RING, 7, 2, &id), 0);
    assert_int_equal(id.frozen_for_ns, 8000);
    assert_int_equal(id.read_ago_ns, 3000);
    assert_int_equal(update.suspects[0].read_ago_ns, 3000);
    scan_with(12000, &sample, 1);
    assert_int_equal(detector_find(detector, RING, 7, 2, &id), 0);
    assert_int_equal(id.frozen_for_ns, 12000);
    assert_int_equal(id.read_ago_ns, 0);
}

TEST(calls_out_of_order_are_refused, make_detector, free_detector)
{
    const struct rip_sample samples[5] = {sample_of(9, 1), sample_of(3, 1), sample_of(3, 1), sample_of(10, 1),
                                          sample_of(10, 2)};
    struct detector_update update;

    detector_begin(detector, 0);
    assert_int_equal(detector_feed(detector, samples, 1), -EINVAL);
    assert_int_equal(detector_ring(detector, 5, NULL, 0), 0);
    assert_int_equal(detector_feed(detector, samples, 5), 0); /* slots that do not ascend are ignored */
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
    detector_free(NULL);
}
