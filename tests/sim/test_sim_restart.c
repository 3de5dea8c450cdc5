/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim_restart.c - ripd is restarted during stalls. No stall begins twice, each ends once with its whole duration,
 * and no other id stalls because of the time without a daemon.
 */
#include "sim/sim.h"

TEST(a_stall_continues, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/72", 10);
    sim_add_frozen(world, "7/71");
    sim_run(world, 7000);
    SIM_TRACE(world, "[ 6000] 7/71 > stalled, unknown\n");
    sim_restart(world, 60000);
    sim_run(world, 0); /* its first scan */
    sim_look(world, "7/71");
    sim_look(world, "7/72");
    SIM_TRACE(world, "[ 7500] ripd > restarted after 60 s\n"
                     "[67500] 7/71 > is stalled, unknown\n"
                     "[67500] 7/72 > is running\n");
    sim_run(world, 10000);
    sim_thaw(world, "7/71");
    sim_run(world, 10000);
    SIM_TRACE(world, "[84500] 7/71 > over: moved at 78500 after 77500 ms, 1 stall\n");
}

TEST(an_id_that_moved_during_the_restart_is_over, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add_frozen(world, "7/71");
    sim_run(world, 7000);
    sim_thaw(world, "7/71"); /* and freezes again: that is another freeze */
    sim_freeze(world, "7/71");
    sim_restart(world, 3000);
    sim_run(world, 0);
    sim_look(world, "7/71");
    SIM_TRACE(world, "[ 6000] 7/71 > stalled, unknown\n"
                     "[ 7500] ripd > restarted after 3 s\n"
                     "[10500] 7/71 > is running\n");
    sim_run(world, 4900);
    sim_thaw(world, "7/71");
    sim_run(world, 10000);
    SIM_TRACE(world, "[16500] 7/71 > over: moved at 10500 after 9500 ms, 1 stall\n");
}

TEST(an_id_that_moved_and_stalls_again_is_in_the_same_episode, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add_frozen(world, "7/71");
    sim_run(world, 7000);
    sim_thaw(world, "7/71");
    sim_freeze(world, "7/71");
    sim_restart(world, 3000);
    sim_run(world, 8000);
    sim_look(world, "7/71");
    sim_thaw(world, "7/71");
    sim_run(world, 10000);
    SIM_TRACE(world, "[ 6000] 7/71 > stalled, unknown\n"
                     "[ 7500] ripd > restarted after 3 s\n"
                     "[18500] 7/71 > is stalled, unknown\n"
                     "[25500] 7/71 > over: moved at 19500 after 18500 ms, 2 stalls\n");
}

TEST(ids_that_are_gone_are_over, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/72", 10);
    sim_add(world, "8/1", 10);
    sim_add_frozen(world, "7/71");
    sim_freeze(world, "7/72");
    sim_freeze(world, "8/1");
    sim_run(world, 7000);
    sim_exit(world, "7/71");
    sim_reuse(world, "7/72", 10);
    sim_unlink(world, 8);
    sim_restart(world, 1000);
    sim_run(world, 20000);
    SIM_TRACE(world, "[ 6000] 7/71 > stalled, unknown\n"
                     "[ 6000] 8/1 > stalled, unknown\n" /* rings take turns */
                     "[ 6000] 7/72 > stalled, unknown\n"
                     "[ 7500] ripd > restarted after 1 s\n"
                     "[ 8500] 7/71 > over: gone at 8500 after 7500 ms, 1 stall\n"
                     "[ 8500] 7/72 > over: gone at 8500 after 7500 ms, 1 stall\n"
                     "[ 8500] 8/1 > over: gone at 8500 after 7500 ms, 1 stall\n");
}

/* Only open episodes are adopted. Other ids get their whole threshold, because no scan has observed them. */
TEST(no_other_id_is_accused, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/72", 10);
    sim_add_frozen(world, "7/71");
    sim_run(world, 4000);
    sim_restart(world, 60000);
    sim_freeze(world, "7/72");
    sim_run(world, 4900);
    SIM_TRACE(world, "[ 4500] ripd > restarted after 60 s\n");
    sim_run(world, 1000);
    SIM_TRACE(world, "[69500] 7/71 > stalled, unknown\n"
                     "[69500] 7/72 > stalled, unknown\n");
}

TEST(several_restarts_in_a_row, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add_frozen(world, "7/71");
    sim_run(world, 7000);
    SIM_TRACE(world, "[ 6000] 7/71 > stalled, unknown\n");
    for (uint64_t i = 0; i < 5; i++) {
        sim_restart(world, 2000);
        sim_run(world, i % 2 * 1500);
    }
    SIM_TRACE(world, "[ 7500] ripd > restarted after 2 s\n"
                     "[ 9500] ripd > restarted after 2 s\n"
                     "[13000] ripd > restarted after 2 s\n"
                     "[15000] ripd > restarted after 2 s\n"
                     "[18500] ripd > restarted after 2 s\n");
    sim_exit(world, "7/71");
    sim_run(world, 2000);
    SIM_TRACE(world, "[21500] 7/71 > over: gone at 21500 after 20500 ms, 1 stall\n");
}

/* After the restart the stall is shorter than its new threshold. */
TEST(a_longer_threshold_after_the_restart, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add_frozen(world, "7/71");
    sim_run(world, 7000);
    sim_restart(world, 2000);
    sim_configure(world, SIM_INTERVAL_MS, SIM_STALL_AFTER_MS, "worker=1h");
    sim_run(world, 8000);
    SIM_TRACE(world, "[ 6000] 7/71 > stalled, unknown\n"
                     "[ 7500] ripd > restarted after 2 s\n"
                     "[15500] 7/71 > over: excused at 9500 after 8500 ms, 1 stall\n");
}
