/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector_rules.c - thresholds by rule, rules that are found out late, and thresholds changed while running. See
 * test_detector_model.c for all of that at once.
 */
#include "unit/detector_test.h"

#define NO_ANSWER DETECTOR_RULE_UNKNOWN

static struct detector *detector_with_rules(uint64_t first_ns, uint64_t second_ns)
{
    const struct detector_config config = {.interval_ns = INTERVAL,
                                           .stall_after_ns = STALL_AFTER,
                                           .rule_count = 2,
                                           .rule_thresholds_ns = {first_ns, second_ns}};
    struct detector *detector = NULL;

    assert_int_equal(detector_new(&detector, &config), 0);
    return detector;
}

/* A scan of slot 7; whoever is new gets the rule. Returns the update; *ret_newcomers is how many were new. */
static struct detector_update scan_as(struct detector *detector, uint64_t now, uint64_t progress, int rule,
                                      size_t *ret_newcomers)
{
    const struct rip_sample sample = sample_of(7, progress);
    struct detector_newcomer *newcomers;
    struct detector_update update;

    detector_begin(detector, now);
    assert_int_equal(detector_ring(detector, RING, NULL, 0), 0);
    assert_int_equal(detector_feed(detector, &sample, 1), 0);
    newcomers = detector_newcomers(detector, ret_newcomers);
    for (size_t i = 0; i < *ret_newcomers; i++) {
        assert_int_equal(newcomers[i].ring, RING);
        assert_int_equal(newcomers[i].slot, 7);
        assert_int_equal(newcomers[i].generation, 2);
        newcomers[i].rule = rule;
    }
    detector_end(detector, &update);
    return update;
}

/* When slot 7, frozen since its first scan at 0, is accused; scans every `step`. */
static uint64_t accused_at(struct detector *detector, uint64_t step, int rule)
{
    size_t newcomers;

    for (uint64_t now = 0; now < 100000; now += step)
        if (scan_as(detector, now, 1, rule, &newcomers).event_count)
            return now;
    return UINT64_MAX;
}

static void each_rule_has_its_threshold(void **context)
{
    static const struct {
        int rule;
        uint64_t threshold;
    } cases[] = {{0, 2000}, {1, 9000}, {RULES_NONE, STALL_AFTER}, {2, STALL_AFTER}, {-7, STALL_AFTER}};

    (void)context;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct detector *detector = detector_with_rules(2000, 9000);
        struct detector_id id;

        assert_int_equal(accused_at(detector, INTERVAL, cases[i].rule), cases[i].threshold);
        assert_int_equal(detector_find(detector, RING, 7, 2, &id), 0);
        assert_int_equal(id.threshold_ns, cases[i].threshold);
        assert_int_equal(id.state, ID_STALLED);
        detector_free(detector);
    }
}

static void a_suspect_tells_its_rules_threshold(void **context)
{
    struct detector *detector = detector_with_rules(2000, 9000);
    struct detector_update update = {0};
    size_t newcomers;

    (void)context;
    for (uint64_t now = 0; now <= 2000; now += INTERVAL)
        update = scan_as(detector, now, 1, 0, &newcomers);
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.suspects[0].threshold_ns, 2000);
    detector_free(detector);
}

static void an_id_is_asked_about_until_its_rule_is_known(void **context)
{
    struct detector *detector = detector_with_rules(2000, 9000);
    struct detector_update update;
    struct detector_id id;
    size_t newcomers;

    (void)context;
    for (uint64_t now = 0; now <= 8000; now += INTERVAL) { /* beyond the first rule's threshold, and beyond none's */
        update = scan_as(detector, now, 1, NO_ANSWER, &newcomers);
        assert_int_equal(newcomers, 1);
        assert_int_equal(update.unnamed_count, 1);
        assert_int_equal(update.suspect_count, 0);
        assert_int_equal(detector_find(detector, RING, 7, 2, &id), 0);
        assert_int_equal(id.state, ID_RUNNING);
        assert_true(id.threshold_ns == DETECTOR_UNKNOWN_NS);
    }
    update = scan_as(detector, 8500, 1, 1, &newcomers);
    assert_int_equal(newcomers, 1);
    assert_int_equal(update.unnamed_count, 0);
    assert_int_equal(update.suspect_count, 0);
    assert_true(detector_next_due(detector) == 9000);
    update = scan_as(detector, 9000, 1, NO_ANSWER, &newcomers);
    assert_int_equal(newcomers, 0);
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.event_count, 1);
    detector_free(detector);
}

/* The answer that makes it a suspect comes on the scan on which it is due. */
static void an_answer_counts_on_the_same_scan(void **context)
{
    struct detector *detector = detector_with_rules(2000, 9000);
    struct detector_update update;
    size_t newcomers;

    (void)context;
    for (uint64_t now = 0; now < 2000; now += INTERVAL)
        scan_as(detector, now, 1, NO_ANSWER, &newcomers);
    update = scan_as(detector, 2000, 1, 0, &newcomers);
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.events[0].kind, DETECTOR_STALLED);
    detector_free(detector);
}

static void an_id_in_the_same_slot_is_asked_about_anew(void **context)
{
    struct detector *detector = detector_with_rules(2000, 9000);
    struct rip_sample sample = sample_of(7, 1);
    size_t newcomers;

    (void)context;
    scan_as(detector, 0, 1, 1, &newcomers);
    scan_as(detector, 1000, 1, 1, &newcomers);
    assert_int_equal(newcomers, 0);
    sample.generation += 2;
    detector_begin(detector, 2000);
    assert_int_equal(detector_ring(detector, RING, NULL, 0), 0);
    assert_int_equal(detector_feed(detector, &sample, 1), 0);
    assert_int_equal(detector_newcomers(detector, &newcomers)[0].generation, 4);
    assert_int_equal(newcomers, 1);
    detector_free(detector);
}

static void without_rules_nobody_is_new(void **context)
{
    struct detector *detector = detector_make();
    size_t newcomers;

    (void)context;
    for (uint64_t now = 0; now < 3000; now += INTERVAL) {
        scan_as(detector, now, now, 0, &newcomers);
        assert_int_equal(newcomers, 0);
    }
    detector_free(detector);
}

/* What moves is due by its own threshold after it moved, and the shortest of those that apply decides. */
static void the_next_scan_is_for_the_shortest_threshold_that_applies(void **context)
{
    struct detector *detector = detector_with_rules(300, 700);
    const struct rip_sample idle[2] = {{.progress = 1, .slot = 1, .generation = 2, .idle = 1}, sample_of(7, 5)};
    struct detector_newcomer *newcomers;
    struct detector_update update;
    size_t count;

    (void)context;
    detector_begin(detector, 0);
    assert_int_equal(detector_ring(detector, RING, NULL, 0), 0);
    assert_int_equal(detector_feed(detector, idle, 2), 0);
    newcomers = detector_newcomers(detector, &count);
    newcomers[0].rule = 0; /* idle: its 300 do not matter */
    newcomers[1].rule = 1;
    detector_end(detector, &update);
    assert_true(detector_next_due(detector) == 700);
    scan_as(detector, 500, 6, NO_ANSWER, &count);
    assert_true(detector_next_due(detector) == 500 + 700);
    scan_as(detector, 900, 6, NO_ANSWER, &count);
    assert_true(detector_next_due(detector) == 500 + 700);
    detector_free(detector);
}

/* Reconfiguration -------------------------------------------------------------------------------------------------- */

static void configure(struct detector *detector, uint64_t interval_ns, uint64_t stall_after_ns)
{
    const struct detector_config config = {.interval_ns = interval_ns, .stall_after_ns = stall_after_ns};

    detector_configure(detector, &config);
}

static void a_shorter_threshold_accuses_on_the_next_scan(void **context)
{
    struct detector *detector = detector_make();
    struct detector_update update;

    (void)context;
    for (uint64_t now = 0; now <= 3000; now += INTERVAL)
        scan(detector, now, 1);
    configure(detector, INTERVAL, 2000);
    update = scan(detector, 4000, 1);
    assert_int_equal(update.event_count, 1);
    assert_int_equal(update.events[0].kind, DETECTOR_STALLED);
    assert_int_equal(update.suspects[0].frozen_for_ns, 4000);
    assert_int_equal(update.suspects[0].threshold_ns, 2000);
    detector_free(detector);
}

static void a_longer_threshold_excuses_on_the_next_scan(void **context)
{
    struct detector *detector = detector_make();
    struct detector_update update;
    struct detector_id id;

    (void)context;
    for (uint64_t now = 0; now <= 5000; now += INTERVAL)
        scan(detector, now, 1);
    configure(detector, INTERVAL, 9000);
    update = scan(detector, 6000, 1);
    assert_int_equal(update.suspect_count, 0);
    assert_int_equal(update.event_count, 1);
    assert_int_equal(update.events[0].kind, DETECTOR_EXCUSED);
    assert_int_equal(update.events[0].frozen_for_ns, 6000);
    assert_int_equal(update.counts[ID_STALLED], 0);
    assert_int_equal(update.counts[ID_RUNNING], 1);
    assert_int_equal(detector_find(detector, RING, 7, 2, &id), 0);
    assert_int_equal(id.frozen_for_ns, 6000); /* it is known since when it stands still */
    assert_true(detector_next_due(detector) == 9000);
    for (uint64_t now = 7000; now < 9000; now += INTERVAL)
        assert_int_equal(scan(detector, now, 1).suspect_count, 0);
    update = scan(detector, 9000, 1);
    assert_int_equal(update.events[0].kind, DETECTOR_STALLED);
    assert_int_equal(update.events[0].frozen_for_ns, 9000);
    detector_free(detector);
}

static void a_stopped_id_is_not_excused(void **context)
{
    const struct evidence stopped = {.examined = true, .thread_state = 'T'};
    const struct rip_sample sample = sample_of(7, 1);
    struct detector *detector = detector_make();
    struct detector_update update;

    (void)context;
    for (uint64_t now = 0; now <= 5000; now += INTERVAL)
        scan_with(detector, now, &sample, 1, &stopped);
    configure(detector, INTERVAL, 9000);
    update = scan(detector, 6000, 1);
    assert_int_equal(update.counts[ID_STOPPED], 1);
    assert_int_equal(update.event_count, 0);
    detector_free(detector);
}

/* New rules are asked for, for every id; a stall stays one until the answer is there. */
static void new_rules_are_asked_for_and_a_stall_waits_for_the_answer(void **context)
{
    const struct detector_config config = {
        .interval_ns = INTERVAL, .stall_after_ns = STALL_AFTER, .rule_count = 1, .rule_thresholds_ns = {20000}};
    struct detector *detector = detector_make();
    struct detector_update update;
    size_t newcomers;

    (void)context;
    for (uint64_t now = 0; now <= 5000; now += INTERVAL)
        scan(detector, now, 1);
    detector_configure(detector, &config);
    update = scan_as(detector, 6000, 1, NO_ANSWER, &newcomers);
    assert_int_equal(newcomers, 1);
    assert_int_equal(update.suspect_count, 1);
    assert_int_equal(update.suspects[0].state, ID_STALLED);
    assert_true(update.suspects[0].threshold_ns == DETECTOR_UNKNOWN_NS);
    assert_int_equal(update.event_count, 0);
    update = scan_as(detector, 7000, 1, 0, &newcomers);
    assert_int_equal(update.suspect_count, 0);
    assert_int_equal(update.events[0].kind, DETECTOR_EXCUSED);
    assert_true(detector_next_due(detector) == 20000);
    configure(detector, INTERVAL, STALL_AFTER); /* and without rules it is as before */
    update = scan_as(detector, 8000, 1, NO_ANSWER, &newcomers);
    assert_int_equal(newcomers, 0);
    assert_int_equal(update.events[0].kind, DETECTOR_STALLED);
    assert_int_equal(update.suspects[0].threshold_ns, STALL_AFTER);
    detector_free(detector);
}

/* The scan that follows was planned with the interval from before. */
static void a_shorter_interval_makes_no_scan_late_that_was_on_time(void **context)
{
    struct detector *detector = detector_make();
    struct detector_update update;

    (void)context;
    for (uint64_t now = 0; now <= 4000; now += INTERVAL)
        scan(detector, now, 1);
    configure(detector, INTERVAL / 10, STALL_AFTER);
    configure(detector, INTERVAL / 5, STALL_AFTER);
    update = scan(detector, 5000, 1);
    assert_false(update.late);
    assert_int_equal(update.event_count, 1);
    assert_int_equal(update.suspects[0].frozen_for_ns, 5000);
    update = scan(detector, 5600, 1); /* from here on it is the new one */
    assert_true(update.late);
    assert_int_equal(update.suspects[0].frozen_for_ns, 5200);
    configure(detector, 10 * INTERVAL, STALL_AFTER);
    assert_false(scan(detector, 15600, 1).late);
    detector_free(detector);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_has_its_threshold),
        cmocka_unit_test(a_suspect_tells_its_rules_threshold),
        cmocka_unit_test(an_id_is_asked_about_until_its_rule_is_known),
        cmocka_unit_test(an_answer_counts_on_the_same_scan),
        cmocka_unit_test(an_id_in_the_same_slot_is_asked_about_anew),
        cmocka_unit_test(without_rules_nobody_is_new),
        cmocka_unit_test(the_next_scan_is_for_the_shortest_threshold_that_applies),
        cmocka_unit_test(a_shorter_threshold_accuses_on_the_next_scan),
        cmocka_unit_test(a_longer_threshold_excuses_on_the_next_scan),
        cmocka_unit_test(a_stopped_id_is_not_excused),
        cmocka_unit_test(new_rules_are_asked_for_and_a_stall_waits_for_the_answer),
        cmocka_unit_test(a_shorter_interval_makes_no_scan_late_that_was_on_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
