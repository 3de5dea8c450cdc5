/* SPDX-License-Identifier: Apache-2.0 */
/* test_settings.c - what the parts of ripd are set to: ripd/app/settings.c. */
#include "app/settings.h"
#include "ring/registry.h"
#include "support/test.h"

#define MS UINT64_C(1000000)

TEST(of_an_interval)
{
    struct config config = {.interval_ns = 200 * MS, .stall_after_ns = 700 * MS};

    assert_int_equal(settings_hysteresis_ns(&config), 900 * MS);
    assert_int_equal(settings_judging_ns(&config), 10 * MS);
    assert_int_equal(settings_unclassified_ns(&config), 10 * MS);
    assert_int_equal(settings_probe_budget_ns(&config), 20 * MS);
    config.interval_ns = 60000 * MS;
    assert_int_equal(settings_judging_ns(&config), REGISTRY_JUDGING_NS); /* and no more */
    assert_int_equal(settings_probe_budget_ns(&config), 6000 * MS);
}

TEST(of_the_detector)
{
    struct config config = {.interval_ns = 200 * MS, .stall_after_ns = 700 * MS, .rules.count = 2};
    struct detector_config detector;

    config.rules.rules[0].threshold_ns = 1000 * MS;
    config.rules.rules[1].threshold_ns = UINT64_MAX;
    detector = settings_detector(&config);
    assert_int_equal(detector.interval_ns, 200 * MS);
    assert_int_equal(detector.stall_after_ns, 700 * MS);
    assert_int_equal(detector.rule_count, 2);
    assert_int_equal(detector.rule_thresholds_ns[0], 1000 * MS);
    assert_int_equal(detector.rule_thresholds_ns[1], UINT64_MAX);
}
