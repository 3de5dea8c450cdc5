/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_service.c - what is done to the daemon of the world: another configuration, a restart. As ripd/app does it, with
 * the world's memory of reports for a history on disk.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim_inside.h"

static void take_rules(struct sim_world *world, const char *texts)
{
    char *copy = strdup(texts), *rest = NULL;

    assert_non_null(copy);
    world->rules = (struct rules){0};
    for (char *text = strtok_r(copy, " ", &rest); text; text = strtok_r(NULL, " ", &rest)) {
        const char *expected;

        assert_int_equal(rules_add(&world->rules, text, &expected), 0);
    }
    free(copy);
    rules_table_make(&world->rules_table, &world->rules);
    world->config.rule_count = world->rules.count;
    for (size_t i = 0; i < world->rules.count; i++)
        world->config.rule_thresholds_ns[i] = world->rules.rules[i].threshold_ns;
}

void sim_configure(struct sim_world *world, uint64_t interval_ms, uint64_t stall_after_ms, const char *rules)
{
    world->config.interval_ns = interval_ms * SIM_MS;
    world->config.stall_after_ns = stall_after_ms * SIM_MS;
    take_rules(world, rules);
    detector_configure(world->detector, &world->config);
    event_log_set_hysteresis(world->event_log, world->config.stall_after_ns + world->config.interval_ns);
    schedule_set_interval(&world->schedule, world->config.interval_ns, world->now_ns);
}

/* See event_log.h. */
static void take_up(struct sim_world *world)
{
    struct detector_adoption *adoptions = calloc(world->begun_count + 1, sizeof *adoptions);

    assert_non_null(adoptions);
    for (size_t i = 0; i < world->begun_count; i++) {
        const struct report *begin = &world->begun[i];
        const struct episode_adoption episode = {
            .ring = begin->ring,
            .slot = begin->slot,
            .generation = begin->generation,
            .cause = begin->cause,
            .episode = begin->episode,
            .frozen_mono_ns = begin->at_mono_ns - begin->lasted_ns,
            .stall_count = 1,
        };

        adoptions[i] = (struct detector_adoption){
            .ring = begin->ring,
            .slot = begin->slot,
            .generation = begin->generation,
            .cause = begin->cause,
            .progress = begin->progress,
            .frozen_since_mono_ns = begin->at_mono_ns - begin->lasted_ns,
            .moved_after_mono_ns = begin->moved_after_mono_ns,
        };
        assert_int_equal(event_log_adopt(world->event_log, &episode), 0);
    }
    assert_int_equal(detector_adopt(world->detector, adoptions, world->begun_count), 0);
    event_log_set_next(world->event_log, world->last_episode + 1);
    free(adoptions);
}

void sim_restart(struct sim_world *world, uint64_t ms)
{
    sim_print(world, "ripd > restarted after %llu s\n", (unsigned long long)ms / 1000);
    detector_free(world->detector);
    event_log_free(world->event_log, NULL);
    world->update = (struct detector_update){0};
    for (size_t i = 0; i < world->process_count; i++)
        world->processes[i].memory = (struct identity_memory){0};
    sim_advance(world, ms * SIM_MS, false);
    sim_open_ripd(world);
    take_up(world);
}
