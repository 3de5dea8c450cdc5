/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim_random.c - random worlds: ids freeze, thaw, rest, end and are replaced, processes are stopped, killed and
 * replaced by exec, the host is suspended, ripd is stopped, starved, restarted and configured anew, evidence is
 * rationed.
 *
 * The world itself checks that nobody innocent is accused (guarantee 2 of sim.h). Here: after the storm everybody is
 * known for what he is, and every episode that began has ended.
 */
#include <stdio.h>
#include <string.h>

#include "sim/sim_inside.h"

#define SEEDS 150u
#define STORM_STEPS 120u
#define RINGS 3u
#define SLOTS 8u

static void name_of(char ret_who[16], uint32_t ring, uint32_t slot)
{
    snprintf(ret_who, 16, "%u/%u", ring, slot);
}

static void disturb_id(struct sim_world *world, const char *who, uint64_t *random)
{
    /* Periods below the quarter of an interval after which ripd looks again: they are innocent whatever happens. */
    const uint64_t period_ms = 1 + sim_random(random, 200);

    switch (sim_random(random, 8)) {
    case 0:
    case 1:
        sim_freeze(world, who);
        break;
    case 2:
        sim_block(world, who, 'D');
        break;
    case 3:
        sim_park(world, who);
        break;
    case 4:
        sim_idle(world, who);
        break;
    case 5:
        sim_reuse(world, who, period_ms);
        break;
    case 6:
        sim_exit(world, who);
        break;
    default:
        sim_thaw(world, who);
    }
}

static void disturb_process(struct sim_world *world, uint32_t ring, uint64_t *random)
{
    switch (sim_random(random, 5)) {
    case 0:
        sim_stop(world, ring, sim_random(random, 2) ? 'T' : 't');
        break;
    case 1:
        sim_freezer(world, ring);
        break;
    default:
        sim_continue(world, ring);
    }
}

static void disturb_all(struct sim_world *world, uint64_t *random)
{
    static const char *const rules[] = {"", "worker=7s", "other*=1s worker=2s", "w*=5s *=1s"};

    switch (sim_random(random, 5)) {
    case 0:
        sim_suspend(world, 1 + sim_random(random, 3600000));
        break;
    case 3:
        sim_restart(world, sim_random(random, 60000));
        break;
    case 4:
        sim_configure(world, 1000, 3000 + 1000 * sim_random(random, 6), rules[sim_random(random, 4)]);
        break;
    case 1:
        sim_stop_ripd(world, 1 + sim_random(random, 60000));
        break;
    default:
        sim_starve(world, 1 + (unsigned)sim_random(random, 9), 1600 + sim_random(random, 3000));
    }
}

static void storm(struct sim_world *world, uint64_t *random)
{
    for (unsigned step = 0; step < STORM_STEPS; step++) {
        const uint32_t ring = 1 + (uint32_t)sim_random(random, RINGS);
        char who[16];

        name_of(who, ring, (uint32_t)sim_random(random, SLOTS));
        if (sim_random(random, 10) < 7 && !sim_process_of(world, ring)->held)
            disturb_id(world, who, random);
        else if (sim_random(random, 3) < 2)
            disturb_process(world, ring, random);
        else
            disturb_all(world, random);
        sim_run(world, sim_random(random, 3000));
        world->trace_bytes = 0; /* what was said is checked as it is said */
        world->trace[0] = 0;
    }
}

static enum id_state truth(struct sim_world *world, const struct sim_id *id)
{
    const struct sim_process *process = sim_process_of(world, id->ring);

    if (!process->facts.pid_exists)
        return ID_DEAD;
    if (id->activity == SIM_IDLE)
        return ID_IDLE; /* held or not: it is not expected to move */
    if (process->held)
        return ID_STOPPED;
    return id->activity == SIM_FROZEN ? ID_STALLED : ID_RUNNING;
}

static void everybody_is_known_for_what_he_is(struct sim_world *world)
{
    for (size_t i = 0; i < world->id_count; i++) {
        const struct sim_id *id = &world->ids[i];
        struct detector_id known;
        const bool found = detector_find(world->detector, id->ring, id->slot, id->generation, &known) == 0;

        assert_int_equal(found, id->present);
        if (found && known.state != truth(world, id))
            fail_msg("seed %d, %u/%u: is %s, and not %s", (int)world->options.seed, id->ring, id->slot,
                     id_state_name(known.state), id_state_name(truth(world, id)));
    }
}

static void run_seed(uint64_t seed)
{
    struct sim_world *world = sim_new((struct sim_options){
        .seed = seed, .jitter = true, .evidence_max = seed % 3 ? 0 : 6, .reports_max = seed % 4 ? 0 : 2});
    uint64_t random = seed * 7919;

    for (uint32_t ring = 1; ring <= RINGS; ring++) {
        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            char who[16];

            name_of(who, ring, slot);
            sim_add(world, who, 1 + sim_random(&random, 200));
        }
    }
    storm(world, &random);
    if (seed % 2)
        sim_kill(world, 1);
    sim_run(world, 40000); /* time for all evidence, and for a fresh start after a stop that was noticed late */
    everybody_is_known_for_what_he_is(world);
    for (uint32_t ring = 1; ring <= RINGS; ring++)
        sim_unlink(world, ring);
    sim_run(world, 60000);
    assert_int_equal(sim_open_count(world), 0);
    assert_int_equal(world->update.id_count, 0);
    world->trace_bytes = 0;
    sim_free(world);
}

static void random_worlds(void **context)
{
    (void)context;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_seed(seed);
}

static void the_same_seed_gives_the_same_transcript(void **context)
{
    char *transcripts[2] = {NULL, NULL};

    (void)context;
    for (int i = 0; i < 2; i++) {
        struct sim_world *world = sim_new((struct sim_options){.seed = 42, .jitter = true});

        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            char who[16];

            name_of(who, 1, slot);
            sim_add(world, who, 1 + slot);
            sim_freeze(world, who);
            sim_run(world, 777);
        }
        sim_run(world, 20000);
        transcripts[i] = test_malloc(world->trace_bytes + 1);
        memcpy(transcripts[i], world->trace, world->trace_bytes + 1);
        world->trace_bytes = 0;
        sim_free(world);
    }
    assert_string_equal(transcripts[0], transcripts[1]);
    assert_true(strlen(transcripts[0]) > 100);
    test_free(transcripts[0]);
    test_free(transcripts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_worlds),
        cmocka_unit_test(the_same_seed_gives_the_same_transcript),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
