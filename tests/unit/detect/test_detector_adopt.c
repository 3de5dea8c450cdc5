/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_detector_adopt.c - stalls that were open when the daemon stopped, and that continue or have ended.
 */
#include <errno.h>
#include <stdlib.h>

#include "unit/detector_test.h"

#define NOW UINT64_C(500000)
#define SINCE UINT64_C(400000)

#define ADOPTION(slot_number, since_ns)                                                                                \
    {                                                                                                                  \
        .ring = RING, .slot = slot_number, .generation = 2, .cause = CAUSE_BLOCKED, .progress = 3,                     \
        .frozen_since_mono_ns = since_ns, .moved_after_mono_ns = (since_ns)-900                                        \
    }

static const struct detector_adoption adoption = ADOPTION(7, SINCE), young = ADOPTION(7, NOW - 3000);

LIFE(a_stall_that_continues_is_stalled_at_once, .adoption = &adoption) = {
    SCAN(NOW, AT, 3, "stalled blocked 100000-100900 suspect"),
    SCAN(NOW + 1000, AT, 3, "stalled blocked 101000-101900 suspect"),
    SCAN(NOW + 2000, AT, 4, "running 0-1000; moved blocked 101000 after 399100"),
};

LIFE(an_id_that_moved_is_over, .adoption = &adoption) = {
    SCAN(NOW, AT, 4, "running 0-100000; moved blocked 100000 after 399100"),
    SCAN(NOW + 1000, AT, 4, "running 1000-101000"),
};

LIFE(an_id_that_is_idle_is_over, .adoption = &adoption) = {
    SCAN(NOW, IDLE, 3, "idle 0-100000; moved blocked 100000 after 399100"),
};

LIFE(an_id_that_left_is_gone, .adoption = &adoption) = {
    SCAN(NOW, MISSING, 0, "gone; gone blocked 100000 after 399100"),
    SCAN(NOW + 1000, AT, 3, "running 0-?"),
};

LIFE(an_id_of_another_generation_is_gone, .adoption = &adoption) = {
    SCAN(NOW, REUSED, 3, "running 0-?; gone blocked 100000 after 399100"),
};

LIFE(an_adopted_id_goes_with_its_ring, .adoption = &adoption) = {
    SCAN(NOW, NO_RING, 0, "gone; gone blocked 100000 after 399100"),
};

LIFE(an_adopted_id_goes_with_its_process, .adoption = &adoption) = {
    SCAN(NOW, DEAD, 3, "dead 0-100000 last stalled blocked 100000; gone blocked 100000 after 399100"),
};

LIFE(the_verdict_decides_the_state, .adoption = &adoption) = {
    SCAN(NOW, AT, 3, "stopped signal 100000-100900 suspect; stopped blocked 100000 after 399100", .verdict = STOPPED),
};

/* The daemon was restarted with a longer threshold: the stall is over. */
LIFE(a_stall_within_its_threshold_is_excused, .adoption = &young) = {
    SCAN(NOW, AT, 3, "running 3000-3900; excused blocked 3000 after 496100", .due = NOW - 3000 + STALL_AFTER),
};

/* A stall continues until its rule is known. */
static const struct detector_config long_rule = {
    .interval_ns = INTERVAL, .stall_after_ns = STALL_AFTER, .rule_count = 1, .rule_thresholds_ns = {NOW}};

LIFE(an_adopted_stall_whose_rule_is_not_known, .config = &long_rule, .adoption = &adoption) = {
    SCAN(NOW, AT, 3, "stalled blocked 100000-100900 of ? unclassified suspect", .rule = NO_ANSWER),
};
LIFE(an_adopted_stall_without_a_rule, .config = &long_rule, .adoption = &adoption) = {
    SCAN(NOW, AT, 3, "stalled blocked 100000-100900 unclassified suspect", .rule = RULES_NONE),
};
LIFE(an_adopted_stall_gets_its_rule, .config = &long_rule, .adoption = &adoption) = {
    SCAN(NOW, AT, 3, "running 100000-100900 of 500000 unclassified; excused blocked 100000 after 399100", .rule = 0),
};

TEST(each_adopted_stall_keeps_its_age, make_detector, free_detector)
{
    static const uint64_t since[4] = {NOW - 9000, NOW - 50000, NOW - 7000, NOW + 5000};
    struct detector_adoption adoptions[4];
    struct rip_sample samples[4];
    struct detector_update update;

    for (uint32_t i = 0; i < 4; i++) {
        adoptions[3 - i] = (struct detector_adoption)ADOPTION(i, since[i]);
        adoptions[3 - i].moved_after_mono_ns = DETECTOR_UNKNOWN_NS;
        samples[i] = sample_of(i, 3);
    }
    assert_int_equal(detector_adopt(detector, NOW, adoptions, 4), 0);
    update = scan_with(NOW, samples, 4);
    assert_int_equal(update.suspect_count, 3); /* the last age is in the future: frozen since now */
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(update.suspects[i].frozen_for_ns, NOW - since[i]);
        assert_true(update.suspects[i].frozen_for_max_ns == DETECTOR_UNKNOWN_NS);
    }
    assert_int_equal(update.events[0].kind, DETECTOR_EXCUSED);
    assert_int_equal(update.events[0].frozen_for_ns, 0);
}

/* The ages stay while the history drops scans that no id refers to. */
TEST(many_adopted_stalls_keep_their_ages, make_detector, free_detector)
{
    enum { MANY = 20000 };
    struct detector_adoption *adoptions = calloc(MANY, sizeof *adoptions);
    struct rip_sample *samples = calloc(MANY, sizeof *samples);
    struct detector_update update = {0};
    struct detector_id id;

    for (uint32_t i = 0; i < MANY; i++) {
        adoptions[i] = (struct detector_adoption)ADOPTION(i, SINCE + i);
        samples[i] = sample_of(i, i % 2 ? 4 : 3);
    }
    assert_int_equal(detector_adopt(detector, NOW, adoptions, MANY), 0);
    for (uint64_t s = 0; s < 10; s++) {
        update = scan_with(NOW + s * INTERVAL, samples, MANY);
        assert_int_equal(update.event_count, s == 0   ? MANY / 2
                                             : s == 5 ? MANY / 2
                                                      : 0); /* half of them moved, and stall again */
    }
    for (uint32_t i = 0; i < MANY; i += 2) {
        assert_int_equal(detector_find(detector, RING, i, 2, &id), 0);
        assert_int_equal(id.frozen_for_ns, NOW + 9 * INTERVAL - SINCE - i);
    }
    assert_true(update.memory_bytes < (uint64_t)MANY * 500); /* while all are suspects */
    free(adoptions);
    free(samples);
}

TEST(a_slot_is_adopted_once, make_detector, free_detector)
{
    const struct detector_adoption twice[] = {ADOPTION(7, SINCE), ADOPTION(8, SINCE), ADOPTION(7, SINCE)};
    assert_int_equal(detector_adopt(detector, NOW, twice, 3), -EINVAL);
}
