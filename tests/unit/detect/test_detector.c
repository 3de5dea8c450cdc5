/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector.c - each guarantee of detector.h by itself, with a handful of ids. See test_detector_model.c for all
 * of them at once.
 */
#include <errno.h>

#include "unit/detector_test.h"

static const struct evidence asleep = {.examined = true, .thread_state = 'S'};
static const struct evidence stopped = {.examined = true, .thread_state = 'T'};
static const struct evidence gone = {.examined = true, .thread_gone = true};

/* Slot 7 moves at 0, is seen frozen from 1000 on, and stalls at 6000. */
static struct detector *detector_with_a_stall(const struct evidence *evidence)
{
    struct detector *detector = detector_make();
    const struct rip_sample sample = sample_of(7, 2);

    scan(detector, 0, 1);
    for (uint64_t now = 1000; now <= 6000; now += INTERVAL)
        scan_with(detector, now, &sample, 1, evidence);
    return detector;
}

static void assert_event(const struct detector_update *update, enum detector_event_kind kind)
{
    assert_int_equal(update->event_count, 1);
    assert_int_equal(update->events[0].kind, kind);
    assert_int_equal(update->events[0].ring, RING);
    assert_int_equal(update->events[0].slot, 7);
    assert_int_equal(update->events[0].generation, 2);
}

static void a_stall_begins_exactly_at_its_threshold(void **context)
{
    struct detector *detector = detector_make();
    struct detector_update update;

    (void)context;
    scan(detector, 0, 1);
    scan(detector, 1000, 2);
    for (uint64_t now = 2000; now < 6000; now += INTERVAL)
        assert_int_equal(scan(detector, now, 2).suspect_count, 0);
    assert_int_equal(scan(detector, 5999, 2).suspect_count, 0);
    update = scan(detector, 6000, 2);
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.suspects[0].ring, RING);
    assert_int_equal(update.suspects[0].slot, 7);
    assert_int_equal(update.suspects[0].tid, 1007);
    assert_int_equal(update.suspects[0].progress, 2);
    assert_int_equal(update.suspects[0].state, ID_STALLED);
    assert_int_equal(update.suspects[0].cause, CAUSE_NONE);
    assert_int_equal(update.suspects[0].frozen_for_ns, 5000);
    assert_int_equal(update.suspects[0].frozen_for_max_ns, 6000); /* it moved after 0 */
    assert_int_equal(update.suspects[0].threshold_ns, STALL_AFTER);
    assert_event(&update, DETECTOR_STALLED);
    assert_int_equal(update.events[0].frozen_for_ns, 5000);
    assert_int_equal(update.counts[ID_STALLED], 1);
    assert_int_equal(update.counts[ID_RUNNING], 0);
    update = scan(detector, 7000, 2); /* one event per episode */
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.event_count, 0);
    assert_int_equal(update.suspects[0].frozen_for_ns, 6000);
    detector_free(detector);
}

static void one_that_never_moved_has_no_known_maximum(void **context)
{
    struct detector *detector = detector_make();
    struct detector_update update = {0};

    (void)context;
    for (uint64_t now = 0; now <= 5000; now += INTERVAL)
        update = scan(detector, now, 2);
    assert_int_equal(update.suspect_count, 1);
    assert_true(update.suspects[0].frozen_for_max_ns == DETECTOR_UNKNOWN_NS);
    detector_free(detector);
}

/* An 8-bit or a 32-bit comparison takes each of these for frozen. */
static void progress_by_any_power_of_two_is_progress(void **context)
{
    (void)context;
    for (unsigned bit = 0; bit < 64; bit++) {
        struct detector *detector = detector_make();
        uint64_t progress = 5;

        for (uint64_t now = 0; now < 20000; now += INTERVAL) {
            assert_int_equal(scan(detector, now, progress).suspect_count, 0);
            progress += UINT64_C(1) << bit;
        }
        detector_free(detector);
    }
}

static void progress_ends_a_stall_at_once(void **context)
{
    struct detector *detector = detector_with_a_stall(&asleep);
    struct detector_update update = scan(detector, 7000, 3);

    (void)context;
    assert_event(&update, DETECTOR_MOVED);
    assert_int_equal(update.events[0].cause, CAUSE_UNKNOWN);
    assert_int_equal(update.events[0].frozen_for_ns, 5000); /* as last observed */
    assert_int_equal(update.suspect_count, 0);
    assert_int_equal(update.counts[ID_RUNNING], 1);
    assert_int_equal(update.counts[ID_STALLED], 0);
    detector_free(detector);
}

static void a_gap_counts_as_one_interval_at_most(void **context)
{
    struct detector *detector = detector_make();
    struct detector_update update;

    (void)context;
    assert_int_equal(detector_begin(detector, 70000), 0); /* the first scan is not late */
    detector_end(detector, &update);
    assert_false(update.late);
    assert_int_equal(detector_begin(detector, 71500), 0); /* one and a half is not late */
    detector_end(detector, &update);
    assert_false(update.late);
    assert_int_equal(detector_begin(detector, 73001), 501);
    detector_end(detector, &update);
    assert_true(update.late);
    assert_int_equal(update.late_count, 1);
    assert_int_equal(detector_begin(detector, 73000), 0); /* a clock that goes back is a clock that stands */
    detector_end(detector, &update);
    assert_false(update.late);
    detector_free(detector);

    detector = detector_make();
    scan(detector, 0, 1);
    scan(detector, 1000, 2);
    for (uint64_t i = 1; i < 5; i++) /* late, every time by far: one interval each */
        assert_int_equal(scan(detector, 1000 + i * 60000, 2).suspect_count, 0);
    update = scan(detector, 1000 + 4 * 60000 + INTERVAL, 2);
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.suspects[0].frozen_for_ns, 5000);
    assert_int_equal(update.suspects[0].frozen_for_max_ns, 1000 + 4 * 60000 + INTERVAL);
    detector_free(detector);
}

static void nobody_is_accused_on_a_late_scan(void **context)
{
    struct detector *detector = detector_make();
    struct detector_update update;

    (void)context;
    scan(detector, 0, 1);
    for (uint64_t now = 1000; now <= 5900; now += 980)
        scan(detector, now, 2);
    update = scan(detector, 65900, 2);
    assert_true(update.late);
    assert_int_equal(update.suspect_count, 0);
    assert_int_equal(update.event_count, 0);
    assert_int_equal(update.counts[ID_RUNNING], 1);
    assert_int_equal(detector_next_due(detector), 65900 + INTERVAL / 4);
    update = scan(detector, 65900 + INTERVAL / 4, 2);
    assert_int_equal(update.suspect_count, 1);
    assert_event(&update, DETECTOR_STALLED);
    detector_free(detector);
}

static void who_stalled_before_a_late_scan_still_does(void **context)
{
    struct detector *detector = detector_with_a_stall(&asleep);
    struct detector_update update = scan(detector, 90000, 2);

    (void)context;
    assert_true(update.late);
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.suspects[0].state, ID_STALLED);
    assert_int_equal(update.suspects[0].cause, CAUSE_UNKNOWN); /* kept: not examined this time */
    assert_int_equal(update.counts[ID_STALLED], 1);
    assert_int_equal(update.event_count, 0);
    detector_free(detector);
}

/* A look at the wrong moment tells nothing, and takes nothing back; the next one that tells something counts. */
static void what_was_found_out_stays(void **context)
{
    static const struct evidence waits = {.examined = true, .thread_state = 'S', .wait = WAIT_OTHERS};
    static const struct evidence between = {.examined = true, .thread_state = 'R'};
    static const struct evidence sleeps = {.examined = true, .thread_state = 'S', .wait = WAIT_SLEEP};
    struct detector *detector = detector_with_a_stall(&waits);
    const struct rip_sample sample = sample_of(7, 2);
    struct detector_update update = scan(detector, 7000, 2);
    uint64_t now = 8000;

    (void)context;
    assert_int_equal(update.suspects[0].cause, CAUSE_BLOCKED);
    update = scan_with(detector, now, &sample, 1, &between);
    assert_int_equal(update.suspects[0].cause, CAUSE_BLOCKED);
    update = scan_with(detector, now += INTERVAL, &sample, 1, &sleeps);
    assert_int_equal(update.suspects[0].cause, CAUSE_SLEEPING);
    detector_free(detector);
}

static void idle_is_not_stuck(void **context)
{
    struct detector *detector = detector_make();
    struct rip_sample sample = sample_of(7, 2);
    struct detector_update update;
    uint64_t now = 0;

    (void)context;
    sample.idle = 1;
    for (; now < 100000; now += INTERVAL) {
        update = scan_with(detector, now, &sample, 1, NULL);
        assert_int_equal(update.suspect_count, 0);
        assert_int_equal(update.counts[ID_IDLE], 1);
        assert_true(detector_next_due(detector) == UINT64_MAX);
    }
    sample.idle = 0; /* the wait is over; from here on it counts, though the progress is the same */
    for (uint64_t end = now + STALL_AFTER; now < end; now += INTERVAL)
        assert_int_equal(scan_with(detector, now, &sample, 1, NULL).suspect_count, 0);
    update = scan_with(detector, now, &sample, 1, NULL);
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.suspects[0].frozen_for_ns, STALL_AFTER);
    assert_int_equal(update.suspects[0].frozen_for_max_ns, STALL_AFTER + INTERVAL);
    sample.idle = 1;
    update = scan_with(detector, now + INTERVAL, &sample, 1, NULL);
    assert_event(&update, DETECTOR_MOVED);
    assert_int_equal(update.counts[ID_IDLE], 1);
    detector_free(detector);
}

static void another_generation_is_another_id(void **context)
{
    struct detector *detector = detector_with_a_stall(NULL);
    struct rip_sample sample = sample_of(7, 2);
    struct detector_update update;
    struct detector_id id;

    (void)context;
    sample.generation = 4;
    update = scan_with(detector, 7000, &sample, 1, NULL);
    assert_event(&update, DETECTOR_GONE);
    assert_int_equal(update.id_count, 1);
    assert_int_equal(update.counts[ID_RUNNING], 1);
    assert_int_equal(detector_find(detector, RING, 7, 2, &id), -ENOENT);
    assert_int_equal(detector_find(detector, RING, 7, 4, &id), 0);
    assert_int_equal(id.frozen_for_ns, 0);
    assert_true(id.frozen_for_max_ns == DETECTOR_UNKNOWN_NS);
    detector_free(detector);
}

static void who_leaves_while_stalled_is_gone(void **context)
{
    struct detector *detector = detector_with_a_stall(NULL);
    struct detector_update update = scan_with(detector, 7000, NULL, 0, NULL);

    (void)context;
    assert_event(&update, DETECTOR_GONE);
    assert_int_equal(update.id_count, 0);
    detector_free(detector);

    detector = detector_with_a_stall(NULL);
    detector_begin(detector, 7000); /* its ring is not named */
    detector_end(detector, &update);
    assert_event(&update, DETECTOR_GONE);
    assert_int_equal(update.id_count, 0);
    detector_free(detector);
}

static void exited_ends_a_stall(void **context)
{
    struct detector *detector = detector_with_a_stall(&asleep);
    struct rip_sample sample = sample_of(7, 2);
    struct detector_update update = scan_with(detector, 7000, &sample, 1, &gone);

    (void)context;
    assert_event(&update, DETECTOR_GONE);
    assert_int_equal(update.events[0].cause, CAUSE_UNKNOWN);
    assert_int_equal(update.counts[ID_EXITED], 1);
    update = scan_with(detector, 8000, &sample, 1, NULL); /* not examined: as before */
    assert_int_equal(update.suspects[0].state, ID_EXITED);
    assert_int_equal(update.event_count, 0);
    detector_free(detector);
}

static void time_stopped_is_not_held_against_it(void **context)
{
    struct detector *detector = detector_with_a_stall(&asleep);
    struct rip_sample sample = sample_of(7, 2);
    struct detector_update update = scan_with(detector, 7000, &sample, 1, &stopped);
    uint64_t now;

    (void)context;
    assert_event(&update, DETECTOR_STOPPED);
    assert_int_equal(update.counts[ID_STOPPED], 1);
    assert_int_equal(update.suspects[0].cause, CAUSE_SIGNAL);
    update = scan_with(detector, 8000, &sample, 1, NULL); /* not examined: as before */
    assert_int_equal(update.counts[ID_STOPPED], 1);
    update = scan_with(detector, 9000, &sample, 1, &asleep);
    assert_int_equal(update.event_count, 0);
    assert_int_equal(update.counts[ID_RUNNING], 1);
    assert_int_equal(update.suspects[0].state, ID_RUNNING);
    for (now = 10000; now < 9000 + STALL_AFTER; now += INTERVAL)
        assert_int_equal(scan_with(detector, now, &sample, 1, &asleep).suspect_count, 0);
    update = scan_with(detector, now, &sample, 1, &asleep);
    assert_event(&update, DETECTOR_STALLED);
    assert_int_equal(update.suspects[0].frozen_for_ns, STALL_AFTER);
    detector_free(detector);
}

static void one_stopped_from_the_start_never_stalls(void **context)
{
    struct detector *detector = detector_make();
    const struct rip_sample sample = sample_of(7, 2);

    (void)context;
    for (uint64_t now = 0; now < 20000; now += INTERVAL) {
        struct detector_update update = scan_with(detector, now, &sample, 1, &stopped);

        assert_int_equal(update.event_count, 0);
        assert_int_equal(update.counts[ID_STALLED], 0);
        assert_int_equal(update.counts[ID_STOPPED], now >= STALL_AFTER);
    }
    detector_free(detector);
}

static struct detector_update scan_process(struct detector *detector, uint64_t now, uint64_t progress, bool is_dead)
{
    const struct rip_sample samples[2] = {sample_of(7, progress), {.progress = now, .slot = 9, .process = 1}};
    const uint8_t dead[1] = {is_dead};
    struct detector_update update;

    detector_begin(detector, now);
    detector_ring(detector, RING, dead, 1);
    detector_feed(detector, samples, 2);
    detector_end(detector, &update);
    return update;
}

static void the_dead_are_no_suspects(void **context)
{
    struct detector *detector = detector_with_a_stall(NULL);
    struct detector_update update = scan_process(detector, 7000, 2, true);

    (void)context;
    assert_event(&update, DETECTOR_GONE);
    for (uint64_t now = 8000; now < 20000; now += INTERVAL) {
        update = scan_process(detector, now, 2 + now / 9000, true);
        assert_int_equal(update.counts[ID_DEAD], 1);
        assert_int_equal(update.counts[ID_RUNNING], 1); /* of a process beyond the records told of */
        assert_int_equal(update.suspect_count, 0);
    }
    update = scan_process(detector, 20000, 2, false);
    assert_int_equal(update.counts[ID_RUNNING], 2);
    assert_int_equal(update.suspect_count, 0);
    detector_free(detector);
}

static void the_next_scan_is_wanted_when_the_first_falls_due(void **context)
{
    struct detector *detector = detector_make();
    struct rip_sample samples[3] = {sample_of(1, 1), sample_of(2, 1), sample_of(3, 1)};
    struct detector_update update;

    (void)context;
    assert_true(detector_next_due(detector) == UINT64_MAX);
    scan_with(detector, 10000, samples, 3, NULL);
    assert_int_equal(detector_next_due(detector), 15000);
    samples[0].progress = samples[2].progress = 2;
    scan_with(detector, 10900, samples, 3, NULL);
    assert_int_equal(detector_next_due(detector), 15000);
    samples[1].progress = 2;
    scan_with(detector, 11800, samples, 3, NULL);
    assert_int_equal(detector_next_due(detector), 15900);
    scan_with(detector, 12800, samples, 3, NULL);
    scan_with(detector, 14200, samples, 3, NULL); /* 400 of this gap do not count */
    assert_int_equal(detector_next_due(detector), 16300);
    scan_with(detector, 15200, samples, 3, NULL);
    samples[0].progress = 3;
    update = scan_with(detector, 16300, samples, 3, NULL);
    assert_int_equal(update.suspect_count, 0); /* 100 too few: the daemon came late by those */
    update = scan_with(detector, detector_next_due(detector), samples, 3, NULL);
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

static void what_is_known_can_be_asked_for(void **context)
{
    struct detector *detector = detector_with_a_stall(&asleep);
    struct rip_sample samples[3] = {sample_of(5, 1), sample_of(7, 2), sample_of(11, 1)};
    struct detector_id id;
    uint64_t sum = 0;

    (void)context;
    samples[2].idle = 1;
    scan_with(detector, 7000, samples, 3, &asleep);
    assert_int_equal(detector_find(detector, RING, 7, 2, &id), 0);
    assert_int_equal(id.state, ID_STALLED);
    assert_int_equal(id.cause, CAUSE_UNKNOWN);
    assert_int_equal(id.progress, 2);
    assert_int_equal(id.frozen_for_ns, 6000);
    assert_int_equal(id.frozen_for_max_ns, 7000);
    assert_int_equal(id.threshold_ns, STALL_AFTER);
    assert_int_equal(detector_find(detector, RING, 11, 2, &id), 0);
    assert_int_equal(id.state, ID_IDLE);
    assert_int_equal(id.frozen_for_ns, 0);
    assert_int_equal(detector_find(detector, RING, 6, 2, &id), -ENOENT);
    assert_int_equal(detector_find(detector, RING + 1, 7, 2, &id), -ENOENT);
    assert_int_equal(detector_visit(detector, RING, collect, &sum), 0);
    assert_int_equal(sum, 50711);
    samples[1].progress = 99;
    scan_with(detector, 8000, samples, 3, NULL);
    sum = 0;
    assert_int_equal(detector_visit(detector, RING, collect, &sum), -7);
    assert_int_equal(sum, 507);
    assert_int_equal(detector_visit(detector, RING + 1, collect, &sum), 0);
    detector_free(detector);
}

static void calls_out_of_order_are_refused(void **context)
{
    struct detector *detector = detector_make();
    const struct rip_sample samples[5] = {sample_of(9, 1), sample_of(3, 1), sample_of(3, 1), sample_of(10, 1),
                                          sample_of(10, 2)};
    struct detector_update update;

    (void)context;
    detector_begin(detector, 0);
    assert_int_equal(detector_feed(detector, samples, 1), -EINVAL);
    assert_int_equal(detector_ring(detector, 5, NULL, 0), 0);
    assert_int_equal(detector_feed(detector, samples, 5), 0); /* a promise broken: ignored, and no harm done */
    assert_int_equal(detector_ring(detector, 5, NULL, 0), -EINVAL);
    assert_int_equal(detector_ring(detector, 4, NULL, 0), -EINVAL);
    assert_int_equal(detector_feed(detector, samples, 1), -EINVAL);
    assert_int_equal(detector_ring(detector, 6, NULL, 0), 0);
    detector_end(detector, &update);
    assert_int_equal(update.id_count, 2);
    detector_free(detector);
    detector_free(NULL);
}

/* A scan on which RING is not read. */
static struct detector_update skip_ring(struct detector *detector, uint64_t now)
{
    struct detector_update update;
    size_t suspect_count;

    detector_begin(detector, now);
    assert_int_equal(detector_skip(detector, RING), 0);
    assert_int_equal(detector_skip(detector, RING), -EINVAL);
    detector_suspects(detector, &suspect_count);
    detector_end(detector, &update);
    return update;
}

static void a_ring_that_is_skipped_keeps_its_ids(void **context)
{
    struct detector *detector = detector_with_a_stall(&asleep);
    struct detector_update update;

    (void)context;
    for (uint64_t now = 7000; now <= 9000; now += INTERVAL) {
        update = skip_ring(detector, now);
        assert_int_equal(update.id_count, 1);
        assert_int_equal(update.event_count, 0);
        assert_int_equal(update.counts[ID_STALLED], 1);
        assert_int_equal(update.suspect_count, 1);
        assert_true(update.suspects[0].unread);
        assert_int_equal(update.suspects[0].frozen_for_ns, 5000); /* as it was read */
        assert_int_equal(update.suspects[0].frozen_for_max_ns, 6000);
    }
    update = scan(detector, 10000, 2);
    assert_int_equal(update.event_count, 0);
    assert_false(update.suspects[0].unread);
    assert_int_equal(update.suspects[0].frozen_for_ns, 9000); /* its count proves it */
    skip_ring(detector, 11000);
    update = scan(detector, 12000, 3);
    assert_event(&update, DETECTOR_MOVED);
    detector_free(detector);
}

/* Nobody knows when within the gap it moved; and who has moved does not fall due early. */
static void one_that_moved_while_its_ring_was_skipped(void **context)
{
    struct detector *detector = detector_make();
    struct detector_update update = {0};
    const struct rip_sample other = sample_of(1, 1);

    (void)context;
    scan(detector, 0, 1);
    scan(detector, 1000, 2);
    for (uint64_t now = 2000; now <= 4000; now += INTERVAL)
        assert_int_equal(skip_ring(detector, now).suspect_count, 0);
    for (uint64_t now = 5000; now <= 10000; now += INTERVAL) {
        const struct rip_sample sample = sample_of(7, 3);

        assert_int_equal(update.suspect_count, 0);
        detector_begin(detector, now);
        assert_int_equal(detector_ring(detector, RING, NULL, 0), 0);
        assert_int_equal(detector_feed(detector, &sample, 1), 0);
        assert_int_equal(detector_ring(detector, RING + 1, NULL, 0), 0);
        assert_int_equal(detector_feed(detector, &other, 1), 0);
        detector_suspects(detector, &(size_t){0});
        detector_end(detector, &update);
    }
    assert_int_equal(update.suspect_count, 2);
    assert_int_equal(update.suspects[0].frozen_for_ns, 5000);
    assert_int_equal(update.suspects[0].frozen_for_max_ns, 9000);
    assert_int_equal(update.suspects[1].frozen_for_ns, 5000);
    assert_int_equal(update.suspects[1].frozen_for_max_ns, DETECTOR_UNKNOWN_NS);
    skip_ring(detector, 11000);
    assert_int_equal(skip_ring(detector, 12000).id_count, 1); /* RING + 1 was not named */
    detector_free(detector);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stall_begins_exactly_at_its_threshold),
        cmocka_unit_test(one_that_never_moved_has_no_known_maximum),
        cmocka_unit_test(progress_by_any_power_of_two_is_progress),
        cmocka_unit_test(progress_ends_a_stall_at_once),
        cmocka_unit_test(a_gap_counts_as_one_interval_at_most),
        cmocka_unit_test(nobody_is_accused_on_a_late_scan),
        cmocka_unit_test(who_stalled_before_a_late_scan_still_does),
        cmocka_unit_test(what_was_found_out_stays),
        cmocka_unit_test(idle_is_not_stuck),
        cmocka_unit_test(another_generation_is_another_id),
        cmocka_unit_test(who_leaves_while_stalled_is_gone),
        cmocka_unit_test(exited_ends_a_stall),
        cmocka_unit_test(time_stopped_is_not_held_against_it),
        cmocka_unit_test(one_stopped_from_the_start_never_stalls),
        cmocka_unit_test(the_dead_are_no_suspects),
        cmocka_unit_test(the_next_scan_is_wanted_when_the_first_falls_due),
        cmocka_unit_test(what_is_known_can_be_asked_for),
        cmocka_unit_test(a_ring_that_is_skipped_keeps_its_ids),
        cmocka_unit_test(one_that_moved_while_its_ring_was_skipped),
        cmocka_unit_test(calls_out_of_order_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
