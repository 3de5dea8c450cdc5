/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim_traps.c - situations in which a watchdog can report false stalls, as transcripts.
 */
#include "sim/sim.h"

TEST(the_first_stall, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/72", 10);
    sim_add_frozen(world, "7/71");
    sim_run(world, 20000);
    sim_look(world, "7/72");
    SIM_TRACE(world, "[ 6000] 7/71 > stalled, unknown\n"
                     "[20500] 7/72 > is running\n");
    sim_thaw(world, "7/71");
    sim_run(world, 500);
    sim_look(world, "7/71");
    SIM_TRACE(world, "[21000] 7/71 > is running\n");
    sim_run(world, 10000);
    SIM_TRACE(world, "[27000] 7/71 > over: moved at 21000 after 20000 ms, 1 stall\n");
}

/* Steps that an 8-bit, a 16-bit and a 32-bit counter would not see. */
TEST(trap_1_aliasing, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/1", 1);
    sim_add(world, "7/2", 1);
    sim_add(world, "7/3", 1);
    sim_alias(world, "7/1", 256);
    sim_alias(world, "7/2", 65536 * 3);
    sim_alias(world, "7/3", UINT64_C(1) << 32);
    sim_run(world, 600000);
    sim_counts(world);
    SIM_TRACE(world, "[600000] ripd > 3 running\n");
}

/* The host is suspended: that makes no id a stall. */
TEST(trap_14_suspended_for_an_hour, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/72", 3900);
    sim_add(world, "7/73", 10);
    sim_add_frozen(world, "7/71");
    sim_run(world, 5000);
    sim_freeze(world, "7/73");
    sim_suspend(world, 3600000);
    sim_run(world, 0);
    SIM_TRACE(world, "[ 5500] ripd > suspended 3600 s\n"
                     "[3605500] ripd > late, 3599500 ms do not count\n");
    sim_run(world, 20000);
    SIM_TRACE(world, "[3605750] 7/71 > stalled, unknown\n"
                     "[3610500] 7/73 > stalled, unknown\n");
    sim_look(world, "7/72");
    SIM_TRACE(world, "[3625500] 7/72 > is running\n");
}

TEST(trap_14_ripd_stopped_for_a_minute, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/72", 10);
    sim_add_frozen(world, "7/71");
    sim_run(world, 3000);
    sim_stop_ripd(world, 60000);
    sim_run(world, 0);
    SIM_TRACE(world, "[ 3500] ripd > stopped 60 s\n"
                     "[63500] ripd > late, 59500 ms do not count\n");
    sim_run(world, 10000);
    SIM_TRACE(world, "[65500] 7/71 > stalled, unknown\n");
    sim_look(world, "7/72");
    SIM_TRACE(world, "[73500] 7/72 > is running\n");
}

/* An id that became due while ripd was stopped is observed twice before it is a stall. */
TEST(trap_14_due_while_ripd_was_away, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/72", 200); /* frozen by what stopped ripd, such as swapping, and for 200 ms longer */
    sim_add_frozen(world, "7/71");
    sim_freeze(world, "7/72");
    sim_run(world, 4700);
    sim_stop_ripd(world, 60000);
    sim_run(world, 0);
    SIM_TRACE(world, "[ 5200] ripd > stopped 60 s\n"
                     "[65200] ripd > late, 59200 ms do not count\n");
    sim_run(world, 200);
    sim_thaw(world, "7/72");
    sim_run(world, 50);
    SIM_TRACE(world, "[65450] 7/71 > stalled, unknown\n");
}

/* No stall begins on a late scan, however many are late; it begins on the first scan on time. */
TEST(trap_14_starved, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/72", 3900);
    sim_add_frozen(world, "7/71");
    sim_starve(world, 3, 4000);
    sim_starve(world, 3, 2000);
    SIM_TRACE(world, "[ 4500] ripd > late, 3500 ms do not count\n"
                     "[ 8500] ripd > late, 3000 ms do not count\n"
                     "[12500] ripd > late, 3000 ms do not count\n"
                     "[14500] ripd > late, 1000 ms do not count\n"
                     "[16500] ripd > late, 1000 ms do not count\n"
                     "[18500] ripd > late, 1000 ms do not count\n");
    sim_run(world, 250);
    SIM_TRACE(world, "[18750] 7/71 > stalled, unknown\n");
    sim_look(world, "7/72");
    SIM_TRACE(world, "[18750] 7/72 > is running\n");
}

/* An id that stalled before ripd was stopped is still stalled afterwards, or over if it has moved. */
TEST(trap_14_stalls_over_a_stopped_ripd, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/72", 10);
    sim_add_frozen(world, "7/71");
    sim_block(world, "7/72", 'D');
    sim_run(world, 6000);
    SIM_TRACE(world, "[ 6000] 7/71 > stalled, unknown\n"
                     "[ 6000] 7/72 > stalled, uninterruptible\n");
    sim_thaw(world, "7/72");
    sim_stop_ripd(world, 60000);
    sim_run(world, 0);
    sim_look(world, "7/71");
    sim_look(world, "7/72");
    SIM_TRACE(world, "[ 6500] ripd > stopped 60 s\n"
                     "[66500] ripd > late, 59500 ms do not count\n"
                     "[66500] 7/71 > is stalled, unknown\n"
                     "[66500] 7/72 > is running\n");
    sim_run(world, 10000);
    SIM_TRACE(world, "[72500] 7/72 > over: moved at 66500 after 65500 ms, 1 stall\n");
}

TEST(trap_15_idle_is_not_stuck, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/71", 10);
    sim_add(world, "7/72", 10);
    sim_run(world, 500);
    sim_idle(world, "7/71");
    sim_run(world, 86400000);
    sim_counts(world);
    SIM_TRACE(world, "[86400500] ripd > 1 running 1 idle\n");
    sim_freeze(world, "7/71"); /* takes work and is stuck at once */
    sim_run(world, 10000);
    SIM_TRACE(world, "[86406000] 7/71 > stalled, unknown\n");
    sim_idle(world, "7/71");
    sim_run(world, 10000);
    SIM_TRACE(world, "[86417000] 7/71 > over: moved at 86411000 after 10000 ms, 1 stall\n");
}
