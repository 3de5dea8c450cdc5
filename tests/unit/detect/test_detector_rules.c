/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector_rules.c - thresholds by rule, rules that are found late, and thresholds changed at run time.
 * test_detector_model.c has all of that together.
 */
#include "unit/detector_test.h"

#define CONFIG(interval, after, count, ...)                                                                            \
    {                                                                                                                  \
        .interval_ns = interval, .stall_after_ns = after, .rule_count = count, .rule_thresholds_ns = { __VA_ARGS__ }   \
    }

static const struct detector_config no_rules = CONFIG(INTERVAL, STALL_AFTER, 0, 0),
                                    rules = CONFIG(INTERVAL, STALL_AFTER, 2, 2000, 9000),
                                    long_rule = CONFIG(INTERVAL, STALL_AFTER, 1, 20000),
                                    shorter = CONFIG(INTERVAL, 2000, 0, 0), longer = CONFIG(INTERVAL, 9000, 0, 0);

/* The id is frozen from its first scan on. */
TEST(each_rule_has_its_threshold)
{
    static const struct {
        int rule;
        uint64_t threshold;
    } cases[] = {{0, 2000}, {1, 9000}, {RULES_NONE, STALL_AFTER}, {2, STALL_AFTER}, {-7, STALL_AFTER}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct step step = SCAN(0, AT, 1, "", .rule = cases[i].rule);
        struct detector_id id = {0};
        uint64_t now;
        char text[256];

        assert_int_equal(detector_new(&detector, &rules), 0);
        for (now = 0; now < 100000 && id.state != ID_STALLED; now += INTERVAL) {
            play_scan(&step, now, text);
            assert_int_equal(detector_find(detector, RING, 7, 2, &id), 0);
            assert_int_equal(id.threshold_ns, cases[i].threshold);
        }
        assert_int_equal(now - INTERVAL, cases[i].threshold);
        detector_free(detector);
    }
}

/* Although it exceeds the threshold of the first rule and the default. */
LIFE(an_id_is_unclassified_until_its_rule_is_known, .config = &rules) = {
    SCAN(0, AT, 1, "running 0-? of ? unclassified", .rule = NO_ANSWER),
    SCAN(8000, AT, 1, "running 8000-? of ? unclassified", .every = INTERVAL, .rule = NO_ANSWER),
    SCAN(8500, AT, 1, "running 8500-? of 9000 unclassified", .rule = 1, .due = 9000),
    SCAN(9000, AT, 1, "stalled 9000-? of 9000 suspect; stalled 9000 after ?"),
};

LIFE(an_answer_counts_on_the_same_scan, .config = &rules) = {
    SCAN(0, AT, 1, "running 0-? of ? unclassified", .rule = NO_ANSWER),
    SCAN(1000, AT, 1, "running 1000-? of ? unclassified", .rule = NO_ANSWER),
    SCAN(2000, AT, 1, "stalled 2000-? of 2000 unclassified suspect; stalled 2000 after ?"),
};

LIFE(another_id_in_the_slot_is_unclassified, .config = &rules) = {
    SCAN(0, AT, 1, "running 0-? of 9000 unclassified", .rule = 1),
    SCAN(1000, AT, 1, "running 1000-? of 9000"),
    SCAN(2000, REUSED, 1, "running 0-? of 2000 unclassified"),
};

/* The id stays frozen, and the rule of its new name applies. */
LIFE(a_new_name_has_another_rule, .config = &rules) = {
    SCAN(0, AT, 1, "running 0-? of 9000 unclassified", .rule = 1),
    SCAN(4000, AT, 1, "running 4000-? of 9000", .every = INTERVAL),
    SCAN(5000, RENAMED, 1, "stalled 5000-? of 2000 unclassified suspect; stalled 5000 after ?", .rule = 0),
    SCAN(6000, RENAMED, 1, "stalled 6000-? of 2000 suspect"),
    SCAN(7000, AT, 1, "stalled 7000-? of ? unclassified suspect", .rule = NO_ANSWER),
    SCAN(8000, AT, 1, "running 8000-? of 9000 unclassified; excused 8000 after ?", .rule = 1),
};

LIFE(a_new_name_where_there_are_no_rules) = {
    SCAN(0, AT, 1, "running 0-?"),
    SCAN(4000, RENAMED, 1, "running 4000-?", .every = INTERVAL),
    SCAN(5000, AT, 1, "stalled 5000-? suspect; stalled 5000 after ?"),
    SCAN(6000, RENAMED, 1, "stalled 6000-? suspect"),
};

/* The shortest threshold of the ids that are not idle decides when the next scan is due. */
TEST(the_next_scan_is_for_the_shortest_threshold_in_use, NULL, free_detector)
{
    static const struct detector_config short_rules = CONFIG(INTERVAL, STALL_AFTER, 2, 300, 700);
    const struct rip_sample samples[2] = {{.progress = 1, .slot = 1, .generation = 2, .idle = 1}, sample_of(7, 5)};
    struct rip_sample moved = sample_of(7, 6);
    struct detector_unclassified *ids;
    struct detector_update update;
    size_t count;

    assert_int_equal(detector_new(&detector, &short_rules), 0);
    detector_begin(detector, 0);
    assert_int_equal(detector_ring(detector, RING, NULL, 0), 0);
    assert_int_equal(detector_feed(detector, samples, 2), 0);
    ids = detector_unclassified(detector, &count);
    assert_int_equal(count, 2);
    ids[0].rule = 0; /* idle: its 300 do not count */
    ids[1].rule = 1;
    detector_end(detector, &update);
    assert_int_equal(detector_next_due(detector), 700);
    scan_with(500, &moved, 1);
    assert_int_equal(detector_next_due(detector), 500 + 700);
    scan_with(900, &moved, 1);
    assert_int_equal(detector_next_due(detector), 500 + 700);
}

/* Reconfiguration -------------------------------------------------------------------------------------------------- */

LIFE(a_shorter_threshold_makes_a_stall_on_the_next_scan) = {
    SCAN(0, AT, 1, "running 0-?"),
    SCAN(3000, AT, 1, "running 3000-?", .every = INTERVAL),
    SCAN(4000, AT, 1, "stalled 4000-? of 2000 suspect; stalled 4000 after ?", .config = &shorter),
};

/* The time for which it is frozen is kept. */
LIFE(a_longer_threshold_excuses_on_the_next_scan) = {
    SCAN(0, AT, 1, "running 0-?"),
    SCAN(5000, AT, 1, "stalled 5000-? suspect; stalled 5000 after ?", .every = INTERVAL),
    SCAN(6000, AT, 1, "running 6000-? of 9000; excused 6000 after ?", .config = &longer, .due = 9000),
    SCAN(8000, AT, 1, "running 8000-? of 9000", .every = INTERVAL),
    SCAN(9000, AT, 1, "stalled 9000-? of 9000 suspect; stalled 9000 after ?"),
};

LIFE(a_stopped_id_is_not_excused) = {
    SCAN(0, AT, 1, "running 0-?", .verdict = STOPPED),
    SCAN(5000, AT, 1, "stopped signal 5000-? suspect", .every = INTERVAL, .verdict = STOPPED),
    SCAN(6000, AT, 1, "stopped signal 6000-? of 9000 suspect", .config = &longer),
};

LIFE(an_id_of_a_skipped_ring_is_excused_when_the_ring_is_read) = {
    SCAN(0, AT, 1, "running 0-?"),
    SCAN(5000, AT, 1, "stalled 5000-? suspect; stalled 5000 after ?", .every = INTERVAL),
    SCAN(6000, SKIPPED, 0, "stalled 5000-? of ? suspect unread", .config = &long_rule),
    SCAN(7000, AT, 1, "running 7000-? of 20000 unclassified; excused 7000 after ?"),
};

/* New rules make each id unclassified; a stall continues until its rule is known. Without rules all is as before. */
LIFE(a_stall_waits_for_its_new_rule) = {
    SCAN(0, AT, 1, "running 0-?"),
    SCAN(5000, AT, 1, "stalled 5000-? suspect; stalled 5000 after ?", .every = INTERVAL),
    SCAN(6000, AT, 1, "stalled 6000-? of ? unclassified suspect", .config = &long_rule, .rule = NO_ANSWER),
    SCAN(7000, AT, 1, "running 7000-? of 20000 unclassified; excused 7000 after ?", .due = 20000),
    SCAN(8000, AT, 1, "stalled 8000-? suspect; stalled 8000 after ?", .config = &no_rules),
};

/* The next scan was scheduled with the previous interval, so it is not late. */
TEST(a_shorter_interval_makes_no_scheduled_scan_late, make_detector, free_detector)
{
    static const struct detector_config tenth = CONFIG(INTERVAL / 10, STALL_AFTER, 0, 0),
                                        fifth = CONFIG(INTERVAL / 5, STALL_AFTER, 0, 0),
                                        tenfold = CONFIG(10 * INTERVAL, STALL_AFTER, 0, 0);
    const struct rip_sample sample = sample_of(7, 1);
    struct detector_update update;

    for (uint64_t now = 0; now <= 4000; now += INTERVAL)
        scan_with(now, &sample, 1);
    detector_configure(detector, &tenth);
    detector_configure(detector, &fifth);
    update = scan_with(5000, &sample, 1);
    assert_false(update.late);
    assert_int_equal(update.event_count, 1);
    assert_int_equal(update.suspects[0].frozen_for_ns, 5000);
    update = scan_with(5600, &sample, 1); /* from here on the new interval holds */
    assert_true(update.late);
    assert_int_equal(update.suspects[0].frozen_for_ns, 5200);
    detector_configure(detector, &tenfold);
    assert_false(scan_with(15600, &sample, 1).late);
}
