/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim_random.c - random worlds. Ids freeze, move again, become idle, end and are replaced. Processes are stopped,
 * killed and replaced by exec. The host is suspended. ripd is stopped, starved, restarted and reconfigured, and its
 * evidence is limited.
 *
 * The world itself checks that only frozen ids stall (guarantee B of sim.h). The tests check that afterwards the state
 * of each id is right, and that every episode that began has ended.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

#define SEEDS 150u
#define STORM_STEPS 120u
#define RINGS 3u
#define SLOTS 8u

static void disturb_id(struct sim_world *world, const char *id, uint64_t *random)
{
    /* Shorter than the quarter of an interval after which ripd scans again: only a freeze makes such an id stall. */
    const uint64_t period_ms = 1 + sim_random(random, 200);

    switch (sim_random(random, 8)) {
    case 0:
    case 1:
        sim_freeze(world, id);
        break;
    case 2:
        sim_block(world, id, 'D');
        break;
    case 3:
        sim_park(world, id);
        break;
    case 4:
        sim_idle(world, id);
        break;
    case 5:
        sim_reuse(world, id, period_ms);
        break;
    case 6:
        sim_exit(world, id);
        break;
    default:
        sim_thaw(world, id);
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
        const struct sim_place place = sim_place(ring, (uint32_t)sim_random(random, SLOTS));

        if (sim_random(random, 10) < 7 && !sim_is_held(world, ring))
            disturb_id(world, place.text, random);
        else if (sim_random(random, 3) < 2)
            disturb_process(world, ring, random);
        else
            disturb_all(world, random);
        sim_run(world, sim_random(random, 3000));
        sim_take_trace(world); /* reports were checked when they were made */
    }
}

static void run_seed(uint64_t seed)
{
    struct sim_world *world = sim_new((struct sim_options){.seed = seed,
                                                           .jitter = true,
                                                           .evidence_max = seed % 3 ? 0 : 6,
                                                           .events_max = seed % 4 ? 0 : 4,
                                                           .records = seed % 4 != 0});
    uint64_t random = seed * 7919;

    for (uint32_t ring = 1; ring <= RINGS; ring++)
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            sim_add(world, sim_place(ring, slot).text, 1 + sim_random(&random, 200));
    storm(world, &random);
    if (seed % 2)
        sim_kill(world, 1);
    sim_run(world, 40000); /* enough for all evidence, and for a new freeze after a stop that was noticed late */
    sim_check_states(world);
    for (uint32_t ring = 1; ring <= RINGS; ring++)
        sim_unlink(world, ring);
    sim_run(world, 60000);
    assert_int_equal(sim_cases(world).open_count, 0);
    assert_int_equal(sim_begun_count(world), 0);
    assert_int_equal(sim_id_count(world), 0);
    sim_take_trace(world);
    sim_free(world);
}

TEST(random_worlds)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_seed(seed);
}

TEST(the_same_seed_gives_the_same_transcript)
{
    char *transcripts[2] = {NULL, NULL};

    for (int i = 0; i < 2; i++) {
        struct sim_world *world = sim_new((struct sim_options){.seed = 42, .jitter = true});

        for (uint32_t slot = 0; slot < SLOTS; slot++) {
            sim_add(world, sim_place(1, slot).text, 1 + slot);
            sim_freeze(world, sim_place(1, slot).text);
            sim_run(world, 777);
        }
        sim_run(world, 20000);
        transcripts[i] = strdup(sim_take_trace(world));
        sim_free(world);
    }
    assert_string_equal(transcripts[0], transcripts[1]);
    assert_true(strlen(transcripts[0]) > 100);
    free(transcripts[0]);
    free(transcripts[1]);
}
