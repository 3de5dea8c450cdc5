/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector_adopt.c - stalls that were open when the daemon stopped: those that still are, and those that are not.
 */
#include <errno.h>
#include <stdlib.h>

#include "unit/detector_test.h"

#define NOW UINT64_C(500000)
#define SINCE UINT64_C(400000)

static struct detector_adoption adoption_of(uint32_t slot, uint64_t progress)
{
    return (struct detector_adoption){
        .ring = RING,
        .slot = slot,
        .generation = 2,
        .cause = CAUSE_BLOCKED,
        .progress = progress,
        .frozen_since_mono_ns = SINCE,
        .moved_after_mono_ns = SINCE - 900,
    };
}

static struct detector *detector_that_adopts(const struct detector_adoption *adoptions, size_t count)
{
    struct detector *detector = detector_make();

    assert_int_equal(detector_adopt(detector, adoptions, count), 0);
    return detector;
}

static void one_that_stands_where_it_stood_is_stalled_at_once(void **context)
{
    const struct detector_adoption adoption = adoption_of(7, 3);
    struct detector *detector = detector_that_adopts(&adoption, 1);
    struct detector_update update = scan(detector, NOW, 3);

    (void)context;
    assert_int_equal(update.adoption_count, 1);
    assert_int_equal(update.adoptions[0].result, ADOPTION_ADOPTED);
    assert_int_equal(update.event_count, 0); /* it began long ago */
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.suspects[0].state, ID_STALLED);
    assert_int_equal(update.suspects[0].cause, CAUSE_BLOCKED);
    assert_int_equal(update.suspects[0].tid, 1007);
    assert_int_equal(update.suspects[0].frozen_since_ns, SINCE);
    assert_int_equal(update.suspects[0].frozen_for_ns, NOW - SINCE);
    assert_int_equal(update.suspects[0].frozen_for_max_ns, NOW - SINCE + 900);
    assert_int_equal(update.counts[ID_STALLED], 1);
    update = scan(detector, NOW + INTERVAL, 3);
    assert_int_equal(update.adoption_count, 0);
    assert_int_equal(update.event_count, 0);
    assert_int_equal(update.suspects[0].frozen_for_ns, NOW - SINCE + INTERVAL);
    update = scan(detector, NOW + 2 * INTERVAL, 4);
    assert_int_equal(update.event_count, 1);
    assert_int_equal(update.events[0].kind, DETECTOR_MOVED);
    assert_int_equal(update.events[0].progress, 3);
    assert_int_equal(update.events[0].frozen_for_ns, NOW - SINCE + INTERVAL);
    assert_int_equal(update.events[0].moved_after_mono_ns, SINCE - 900);
    detector_free(detector);
}

static void one_that_moved_is_over_and_not_accused(void **context)
{
    const struct detector_adoption adoption = adoption_of(7, 3);
    const struct rip_sample idle = {.progress = 3, .slot = 7, .generation = 2, .idle = 1};

    (void)context;
    for (int case_number = 0; case_number < 2; case_number++) { /* it moved; it is idle */
        struct detector *detector = detector_that_adopts(&adoption, 1);
        struct detector_update update =
            case_number == 0 ? scan(detector, NOW, 4) : scan_with(detector, NOW, &idle, 1, NULL);

        assert_int_equal(update.adoptions[0].result, ADOPTION_MOVED);
        assert_int_equal(update.suspect_count, 0);
        assert_int_equal(update.counts[ID_STALLED], 0);
        assert_int_equal(update.event_count, 1);
        assert_int_equal(update.events[0].kind, DETECTOR_MOVED);
        assert_int_equal(update.events[0].slot, 7);
        assert_int_equal(update.events[0].cause, CAUSE_BLOCKED);
        assert_int_equal(scan(detector, NOW + INTERVAL, 4).event_count, 0);
        detector_free(detector);
    }
}

static void one_that_is_not_there_is_gone(void **context)
{
    const struct detector_adoption adoption = adoption_of(7, 3);
    const uint8_t dead = 1;

    (void)context;
    for (int case_number = 0; case_number < 4; case_number++) {
        struct detector *detector = detector_that_adopts(&adoption, 1);
        struct rip_sample sample = sample_of(case_number == 0 ? 8 : 7, 3);
        struct detector_update update;

        sample.generation += case_number == 1 ? 2 : 0;
        detector_begin(detector, NOW);
        if (case_number != 2) { /* its ring is not there */
            assert_int_equal(detector_ring(detector, RING, &dead, case_number == 3), 0);
            assert_int_equal(detector_feed(detector, &sample, 1), 0);
        }
        detector_end(detector, &update);
        assert_int_equal(update.adoptions[0].result, ADOPTION_GONE);
        assert_int_equal(update.suspect_count, 0);
        assert_int_equal(update.event_count, 1);
        assert_int_equal(update.events[0].kind, DETECTOR_GONE);
        assert_int_equal(update.events[0].generation, 2);
        detector_free(detector);
    }
}

static void evidence_decides_what_it_is_now(void **context)
{
    static const struct evidence stopped = {.examined = true, .thread_state = 'T'};
    const struct detector_adoption adoption = adoption_of(7, 3);
    const struct rip_sample sample = sample_of(7, 3);
    struct detector *detector = detector_that_adopts(&adoption, 1);
    struct detector_update update = scan_with(detector, NOW, &sample, 1, &stopped);

    (void)context;
    assert_int_equal(update.counts[ID_STOPPED], 1);
    assert_int_equal(update.event_count, 1);
    assert_int_equal(update.events[0].kind, DETECTOR_STOPPED);
    detector_free(detector);
}

/* The daemon came back with a longer threshold: the stall is over. */
static void one_within_its_threshold_is_excused(void **context)
{
    struct detector_adoption adoption = adoption_of(7, 3);
    struct detector *detector;
    struct detector_update update;

    (void)context;
    adoption.frozen_since_mono_ns = NOW - 3000;
    detector = detector_that_adopts(&adoption, 1);
    update = scan(detector, NOW, 3);
    assert_int_equal(update.adoptions[0].result, ADOPTION_ADOPTED);
    assert_int_equal(update.suspect_count, 0);
    assert_int_equal(update.event_count, 1);
    assert_int_equal(update.events[0].kind, DETECTOR_EXCUSED);
    assert_true(detector_next_due(detector) == NOW - 3000 + STALL_AFTER);
    detector_free(detector);
}

static void ages_are_each_their_own(void **context)
{
    static const uint64_t since[4] = {NOW - 9000, NOW - 50000, NOW - 7000, NOW + 5000};
    struct detector_adoption adoptions[4];
    struct rip_sample samples[4];
    struct detector *detector;
    struct detector_update update;

    (void)context;
    for (uint32_t i = 0; i < 4; i++) {
        adoptions[3 - i] = adoption_of(i, 3);
        adoptions[3 - i].frozen_since_mono_ns = since[i];
        adoptions[3 - i].moved_after_mono_ns = DETECTOR_UNKNOWN_NS;
        samples[i] = sample_of(i, 3);
    }
    detector = detector_that_adopts(adoptions, 4);
    update = scan_with(detector, NOW, samples, 4, NULL);
    assert_int_equal(update.suspect_count, 3); /* the last one cannot be: it is frozen since now */
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(update.suspects[i].frozen_for_ns, NOW - since[i]);
        assert_true(update.suspects[i].frozen_for_max_ns == DETECTOR_UNKNOWN_NS);
    }
    assert_int_equal(update.events[0].kind, DETECTOR_EXCUSED);
    assert_int_equal(update.events[0].frozen_for_ns, 0);
    detector_free(detector);
}

/* As many as there can be; their ages survive the forgetting of scans nobody refers to. */
static void many_are_adopted_and_stay_as_old_as_they_are(void **context)
{
    enum { MANY = 20000 };
    struct detector_adoption *adoptions = calloc(MANY, sizeof *adoptions);
    struct rip_sample *samples = calloc(MANY, sizeof *samples);
    struct detector_update update = {0};
    struct detector *detector;
    struct detector_id id;

    (void)context;
    for (uint32_t i = 0; i < MANY; i++) {
        adoptions[i] = adoption_of(i, 3);
        adoptions[i].frozen_since_mono_ns = SINCE + i;
        samples[i] = sample_of(i, i % 2 ? 4 : 3);
    }
    detector = detector_that_adopts(adoptions, MANY);
    for (uint64_t s = 0; s < 10; s++) {
        update = scan_with(detector, NOW + s * INTERVAL, samples, MANY, NULL);
        assert_int_equal(update.event_count, s == 0 ? MANY / 2 : s == 5 ? MANY / 2 : 0); /* moved; stalled since then */
    }
    for (uint32_t i = 0; i < MANY; i += 2) {
        assert_int_equal(detector_find(detector, RING, i, 2, &id), 0);
        assert_int_equal(id.frozen_for_ns, NOW + 9 * INTERVAL - SINCE - i);
    }
    assert_true(update.memory_bytes < (uint64_t)MANY * 500); /* they are suspects, every one of them */
    free(adoptions);
    free(samples);
    detector_free(detector);
}

static void an_id_named_twice_is_adopted_once(void **context)
{
    const struct detector_adoption twice[2] = {adoption_of(7, 3), adoption_of(7, 3)};
    struct detector *detector = detector_that_adopts(twice, 2);
    struct detector_update update = scan(detector, NOW, 3);

    (void)context;
    assert_int_equal(update.event_count, 0);
    assert_int_equal(update.adoptions[1].result, ADOPTION_ADOPTED);
    detector_free(detector);
}

static void adoptions_come_before_the_first_scan_and_once(void **context)
{
    const struct detector_adoption adoption = adoption_of(7, 3);
    struct detector *detector = detector_that_adopts(&adoption, 1);

    (void)context;
    assert_int_equal(detector_adopt(detector, &adoption, 1), -EBUSY);
    scan(detector, NOW, 4);
    scan(detector, NOW + INTERVAL, 4);
    assert_int_equal(detector_adopt(detector, &adoption, 1), -EBUSY);
    detector_free(detector);
}

/* Its rule is asked for like everybody's; until it is known the stall stays one. */
static void an_adopted_stall_has_a_rule_too(void **context)
{
    const struct detector_config config = {
        .interval_ns = INTERVAL, .stall_after_ns = STALL_AFTER, .rule_count = 1, .rule_thresholds_ns = {NOW}};
    const struct detector_adoption adoption = adoption_of(7, 3);
    const struct rip_sample sample = sample_of(7, 3);

    (void)context;
    for (int rule = DETECTOR_RULE_UNKNOWN; rule < 1; rule++) {
        struct detector_newcomer *newcomers;
        struct detector_update update;
        struct detector *detector;
        size_t count;

        assert_int_equal(detector_new(&detector, &config), 0);
        assert_int_equal(detector_adopt(detector, &adoption, 1), 0);
        detector_begin(detector, NOW);
        assert_int_equal(detector_ring(detector, RING, NULL, 0), 0);
        assert_int_equal(detector_feed(detector, &sample, 1), 0);
        newcomers = detector_newcomers(detector, &count);
        assert_int_equal(count, 1);
        newcomers[0].rule = rule;
        detector_end(detector, &update);
        assert_int_equal(update.counts[ID_STALLED], rule != 0);
        assert_int_equal(update.event_count, rule == 0); /* excused */
        detector_free(detector);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_stands_where_it_stood_is_stalled_at_once),
        cmocka_unit_test(one_that_moved_is_over_and_not_accused),
        cmocka_unit_test(one_that_is_not_there_is_gone),
        cmocka_unit_test(evidence_decides_what_it_is_now),
        cmocka_unit_test(one_within_its_threshold_is_excused),
        cmocka_unit_test(ages_are_each_their_own),
        cmocka_unit_test(many_are_adopted_and_stay_as_old_as_they_are),
        cmocka_unit_test(an_id_named_twice_is_adopted_once),
        cmocka_unit_test(adoptions_come_before_the_first_scan_and_once),
        cmocka_unit_test(an_adopted_stall_has_a_rule_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
