/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim_rules.c - thresholds by name, thresholds that ids set themselves, and thresholds changed while ripd runs, as
 * transcripts; and the time within which a stall is reported, with random rules and intervals.
 */
#include <stdio.h>

#include "sim/sim.h"

#define PHASES 3000u

TEST(a_rule_is_for_matching_names, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_configure(world, SIM_INTERVAL_MS, SIM_STALL_AFTER_MS, "batch-*=20s ui*=2s");
    sim_add(world, "7/1", 10);
    sim_add(world, "7/2", 10);
    sim_add(world, "7/3", 10);
    sim_name(world, "7/1", "batch-7");
    sim_name(world, "7/3", "ui");
    sim_run(world, 500);
    sim_freeze(world, "7/1");
    sim_freeze(world, "7/2");
    sim_freeze(world, "7/3");
    sim_run(world, 25000);
    SIM_TRACE(world, "[ 3000] 7/3 > stalled, unknown\n"
                     "[ 6000] 7/2 > stalled, unknown\n"
                     "[21000] 7/1 > stalled, unknown\n");
}

TEST(the_first_rule_that_matches_decides, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_configure(world, SIM_INTERVAL_MS, SIM_STALL_AFTER_MS, "batch-nightly=30s batch-*=10s *=3s");
    sim_add(world, "7/1", 10);
    sim_add(world, "7/2", 10);
    sim_add(world, "7/3", 10);
    sim_name(world, "7/1", "batch-nightly");
    sim_name(world, "7/2", "batch-7");
    sim_run(world, 500);
    sim_freeze(world, "7/1");
    sim_freeze(world, "7/2");
    sim_freeze(world, "7/3");
    sim_run(world, 40000);
    SIM_TRACE(world, "[ 4000] 7/3 > stalled, unknown\n"
                     "[11000] 7/2 > stalled, unknown\n"
                     "[31000] 7/1 > stalled, unknown\n");
}

/* Another generation of a slot is another id. */
TEST(another_id_in_the_slot_has_its_own_rule, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_configure(world, SIM_INTERVAL_MS, SIM_STALL_AFTER_MS, "batch-*=20s");
    sim_add(world, "7/1", 10);
    sim_name(world, "7/1", "batch-7");
    sim_run(world, 2500);
    sim_reuse(world, "7/1", 10);
    sim_run(world, 1000);
    sim_freeze(world, "7/1");
    sim_run(world, 10000);
    SIM_TRACE(world, "[ 9000] 7/1 > stalled, unknown\n");
}

/* A rule shorter than the interval: scans come earlier, only because of its ids. */
TEST(a_short_rule_makes_scans_earlier, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_configure(world, SIM_INTERVAL_MS, SIM_STALL_AFTER_MS, "ui=250ms");
    sim_add(world, "7/1", 10);
    sim_name(world, "7/1", "ui");
    sim_run(world, 1010);
    sim_freeze(world, "7/1");
    sim_run(world, 1000);
    SIM_TRACE(world, "[ 1500] 7/1 > stalled, unknown\n");
}

TEST(a_shorter_threshold_accuses_on_the_next_scan, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/2", 10);
    sim_add_frozen(world, "7/1");
    sim_run(world, 4000);
    sim_configure(world, SIM_INTERVAL_MS, 2000, "");
    sim_run(world, 10000);
    SIM_TRACE(world, "[ 5000] 7/1 > stalled, unknown\n");
}

/* The id is not stalled on the next scan. It stalls again at the longer threshold, within the hysteresis. */
TEST(a_longer_threshold_excuses_on_the_next_scan, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add_frozen(world, "7/1");
    sim_run(world, 7000);
    SIM_TRACE(world, "[ 6000] 7/1 > stalled, unknown\n");
    sim_configure(world, SIM_INTERVAL_MS, 30000, "");
    sim_run(world, 1000);
    sim_look(world, "7/1");
    SIM_TRACE(world, "[ 8500] 7/1 > is running\n");
    sim_run(world, 30000);
    SIM_TRACE(world, ""); /* the same episode */
    sim_look(world, "7/1");
    SIM_TRACE(world, "[38500] 7/1 > is stalled, unknown\n");
    sim_thaw(world, "7/1");
    sim_run(world, 40000);
    SIM_TRACE(world, "[70000] 7/1 > over: moved at 39000 after 38000 ms, 2 stalls\n");
}

/* The same with a rule, which is removed again. */
TEST(a_rule_that_is_added_and_removed, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add_frozen(world, "7/1");
    sim_run(world, 7000);
    sim_configure(world, SIM_INTERVAL_MS, SIM_STALL_AFTER_MS, "worker=1h");
    sim_run(world, 8000);
    SIM_TRACE(world, "[ 6000] 7/1 > stalled, unknown\n"
                     "[14000] 7/1 > over: excused at 8000 after 7000 ms, 1 stall\n");
    sim_configure(world, SIM_INTERVAL_MS, SIM_STALL_AFTER_MS, "");
    sim_run(world, 1000);
    SIM_TRACE(world, "[16000] 7/1 > stalled, unknown\n");
}

/* A rule takes precedence over a threshold that the id sets, and that over the default, shorter or longer. */
TEST(a_deadline_is_for_ids_without_a_rule, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_configure(world, SIM_INTERVAL_MS, SIM_STALL_AFTER_MS, "batch-*=10s");
    for (uint32_t slot = 1; slot <= 4; slot++)
        sim_add(world, sim_place(7, slot).text, 10);
    sim_name(world, "7/1", "batch-7");
    sim_deadline(world, "7/1", 2000);
    sim_deadline(world, "7/2", 1700);
    sim_deadline(world, "7/3", 20000);
    sim_run(world, 500);
    for (uint32_t slot = 1; slot <= 4; slot++)
        sim_freeze(world, sim_place(7, slot).text);
    sim_run(world, 25000);
    SIM_TRACE(world, "[ 2700] 7/2 > stalled, unknown\n"
                     "[ 6000] 7/4 > stalled, unknown\n"
                     "[11000] 7/1 > stalled, unknown\n"
                     "[21000] 7/3 > stalled, unknown\n");
}

/* Without rules. A deadline much shorter than the interval makes scans earlier, only because of its id. */
TEST(a_short_deadline_makes_scans_earlier, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/1", 10);
    sim_add(world, "7/2", 10);
    sim_run(world, 500);
    sim_deadline(world, "7/1", 250);
    sim_run(world, 510);
    sim_freeze(world, "7/1");
    sim_freeze(world, "7/2");
    sim_run(world, 9000);
    SIM_TRACE(world, "[ 1500] 7/1 > stalled, unknown\n"
                     "[ 6250] 7/2 > stalled, unknown\n");
}

/* A longer deadline, and then none, excuse a stall until the new threshold is reached. */
TEST(a_deadline_that_is_changed_and_removed, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/1", 10);
    sim_deadline(world, "7/1", 2000);
    sim_run(world, 500);
    sim_freeze(world, "7/1");
    sim_run(world, 3000);
    SIM_TRACE(world, "[ 3000] 7/1 > stalled, unknown\n");
    sim_deadline(world, "7/1", 30000);
    sim_run(world, 1000);
    sim_look(world, "7/1");
    sim_deadline(world, "7/1", 0);
    sim_run(world, 1000);
    sim_look(world, "7/1");
    SIM_TRACE(world, "[ 4500] 7/1 > is running\n"
                     "[ 5500] 7/1 > is running\n");
    sim_run(world, 1000);
    sim_look(world, "7/1");
    SIM_TRACE(world, "[ 6500] 7/1 > is stalled, unknown\n");
}

/* A deadline does not apply to an idle id, nor to the next id in the slot. */
TEST(a_deadline_belongs_to_one_id_that_is_not_idle, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/1", 10);
    sim_deadline(world, "7/1", 2000);
    sim_idle(world, "7/1");
    sim_run(world, 4500);
    SIM_TRACE(world, "");
    sim_reuse(world, "7/1", 10);
    sim_run(world, 1000);
    sim_freeze(world, "7/1");
    sim_run(world, 7000);
    SIM_TRACE(world, "[11000] 7/1 > stalled, unknown\n");
}

/* After a restart the stall continues, according to the deadline that the id still has. */
TEST(a_deadline_survives_a_restart, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/1", 10);
    sim_deadline(world, "7/1", 2000);
    sim_run(world, 500);
    sim_freeze(world, "7/1");
    sim_run(world, 3000);
    sim_restart(world, 500);
    sim_run(world, 1000);
    sim_look(world, "7/1");
    SIM_TRACE(world, "[ 3000] 7/1 > stalled, unknown\n"
                     "[ 3500] ripd > restarted after 0 s\n"
                     "[ 5000] 7/1 > is stalled, unknown\n");
}

/* The interval changes from a minute to a second, just after a scan. */
TEST(a_shorter_interval_does_not_wait_for_the_longer_one, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_configure(world, 60000, 300000, "");
    sim_add(world, "7/1", 10);
    sim_run(world, 120500);
    sim_freeze(world, "7/1");
    sim_configure(world, SIM_INTERVAL_MS, SIM_STALL_AFTER_MS, "");
    sim_run(world, 8000);
    SIM_TRACE(world, "[126500] 7/1 > stalled, unknown\n");
}

/* A stall is reported between T and T + interval (scans take no time here). Rules, intervals and times are random. */
TEST(every_phase_is_reported_in_time)
{
    for (uint64_t seed = 1; seed <= PHASES; seed++) {
        struct sim_world *world = sim_new((struct sim_options){.seed = seed, .jitter = true, .records = true});
        uint64_t random = seed;
        const uint64_t interval_ms = 200 + sim_random(&random, 3000);
        const uint64_t threshold_ms = interval_ms / 3 + sim_random(&random, 8 * interval_ms);
        uint64_t frozen_ns, after_ns;
        char rules[64];

        snprintf(rules, sizeof rules, "other=10ms work*=%llums *=1h", (unsigned long long)threshold_ms);
        sim_configure(world, interval_ms, 20 * interval_ms, rules);
        sim_add(world, "7/1", 1);
        sim_run(world, 5 * interval_ms + sim_random(&random, interval_ms));
        sim_freeze(world, "7/1");
        frozen_ns = sim_moved_at_ns(world, "7/1");
        do
            sim_run_scan(world);
        while (sim_begun_count(world) == 0 && sim_now_ns(world) - frozen_ns <= (threshold_ms + interval_ms) * SIM_MS);
        after_ns = sim_now_ns(world) - frozen_ns;
        if (after_ns < threshold_ms * SIM_MS || after_ns > (threshold_ms + interval_ms) * SIM_MS)
            fail_msg(
                "seed %llu: reported %llu ns after the freeze, with a threshold of %llu ms and an interval of %llu ms",
                (unsigned long long)seed, (unsigned long long)after_ns, (unsigned long long)threshold_ms,
                (unsigned long long)interval_ms);
        sim_take_trace(world);
        sim_free(world);
    }
}
