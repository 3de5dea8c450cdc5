/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim_states.c - states that are no stalls, episodes and their limits, and a limited budget for evidence; as
 * transcripts.
 */
#include "sim/sim.h"

/* Each id has a process of its own. All are counted, none is a stall. */
TEST(trap_16_states_of_their_own, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    for (uint32_t ring = 1; ring <= 8; ring++)
        sim_add(world, sim_place(ring, 1).text, 10);
    sim_run(world, 500);
    sim_stop(world, 1, 'T');
    sim_stop(world, 2, 't');
    sim_freezer(world, 3);
    sim_core_dump(world, 4);
    sim_end_thread(world, "5/1");
    sim_kill(world, 6);
    sim_exec(world, 7);
    sim_run(world, 7000);
    sim_counts(world);
    for (uint32_t ring = 1; ring <= 8; ring++)
        sim_look(world, sim_place(ring, 1).text);
    SIM_TRACE(world, "[ 7500] ripd > 1 running 4 stopped 1 exited 2 dead\n"
                     "[ 7500] 1/1 > is stopped, signal\n"
                     "[ 7500] 2/1 > is stopped, tracer\n"
                     "[ 7500] 3/1 > is stopped, freezer\n"
                     "[ 7500] 4/1 > is stopped, core-dump\n"
                     "[ 7500] 5/1 > is exited\n"
                     "[ 7500] 6/1 > is dead\n"
                     "[ 7500] 7/1 > is dead\n"
                     "[ 7500] 8/1 > is running\n");
    sim_run(world, 60000);
}

/* An idle id in a stopped process is stopped, because it cannot take work; so is a coroutine on no thread. */
TEST(trap_16_stopped_outranks_idle, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    for (uint32_t ring = 1; ring <= 3; ring++) {
        sim_add(world, sim_place(ring, 1).text, 10);
        sim_idle(world, sim_place(ring, 1).text);
    }
    sim_add(world, "1/2", 10);
    sim_park(world, "1/2");
    sim_idle(world, "1/2");
    sim_run(world, 1500);
    sim_counts(world);
    sim_stop(world, 1, 'T');
    sim_stop(world, 2, 't');
    sim_freezer(world, 3);
    sim_run(world, 1000);
    sim_counts(world);
    sim_look(world, "1/1");
    sim_look(world, "1/2");
    sim_look(world, "2/1");
    sim_look(world, "3/1");
    sim_run(world, 60000);
    for (uint32_t ring = 1; ring <= 3; ring++)
        sim_continue(world, ring);
    sim_run(world, 1000);
    sim_counts(world);
    SIM_TRACE(world, "[ 1500] ripd > 4 idle\n"
                     "[ 2500] ripd > 4 stopped\n"
                     "[ 2500] 1/1 > is stopped, signal\n"
                     "[ 2500] 1/2 > is stopped, signal\n"
                     "[ 2500] 2/1 > is stopped, tracer\n"
                     "[ 2500] 3/1 > is stopped, freezer\n"
                     "[63500] ripd > 4 idle\n");
}

/* A debugger stops a process for a minute and continues it: no stall. */
TEST(trap_16_stopped_and_continued, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/71", 10);
    sim_add(world, "7/72", 10);
    sim_run(world, 500);
    sim_stop(world, 7, 't');
    sim_run(world, 60000);
    sim_counts(world);
    sim_continue(world, 7);
    sim_run(world, 500);
    sim_counts(world);
    SIM_TRACE(world, "[60500] ripd > 2 stopped\n"
                     "[61000] ripd > 2 running\n");
}

/* Time stopped does not count: an id that stays frozen is frozen since it was continued. */
TEST(trap_16_stuck_when_continued, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add_frozen(world, "7/71");
    sim_stop(world, 7, 'T');
    sim_run(world, 60000);
    sim_continue(world, 7);
    sim_run(world, 500);
    sim_look(world, "7/71");
    sim_run(world, 10000);
    SIM_TRACE(world, "[61000] 7/71 > is running\n"
                     "[66000] 7/71 > stalled, unknown\n");
}

TEST(trap_16_a_stall_that_is_stopped_is_over, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add_frozen(world, "7/71");
    sim_run(world, 8000);
    SIM_TRACE(world, "[ 6000] 7/71 > stalled, unknown\n");
    sim_stop(world, 7, 'T');
    sim_run(world, 20000);
    SIM_TRACE(world, "[15000] 7/71 > over: stopped at 9000 after 8000 ms, 1 stall\n");
}

TEST(an_id_on_no_thread_is_parked, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/71", 10);
    sim_run(world, 500);
    sim_park(world, "7/71");
    sim_run(world, 6000);
    SIM_TRACE(world, "[ 6000] 7/71 > stalled, parked\n");
    sim_stop(world, 7, 'T');
    sim_run(world, 1000);
    sim_look(world, "7/71");
    SIM_TRACE(world, "[ 7500] 7/71 > is stopped, signal\n");
}

TEST(an_id_that_is_gone_ends_its_stall, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    for (uint32_t ring = 1; ring <= 5; ring++) {
        sim_add(world, sim_place(ring, 1).text, 10);
        sim_freeze(world, sim_place(ring, 1).text);
    }
    sim_run(world, 5500);
    SIM_TRACE(world, "[ 5000] 1/1 > stalled, unknown\n"
                     "[ 5000] 2/1 > stalled, unknown\n"
                     "[ 5000] 3/1 > stalled, unknown\n"
                     "[ 5000] 4/1 > stalled, unknown\n"
                     "[ 5000] 5/1 > stalled, unknown\n");
    sim_exit(world, "1/1");
    sim_reuse(world, "2/1", 10);
    sim_kill(world, 3); /* dead when two scans agree */
    sim_unlink(world, 4);
    sim_end_thread(world, "5/1");
    sim_run(world, 10000);
    SIM_TRACE(world, "[ 6000] 1/1 > over: gone at 6000 after 6000 ms, 1 stall\n"
                     "[ 6000] 2/1 > over: gone at 6000 after 6000 ms, 1 stall\n"
                     "[ 6000] 4/1 > over: gone at 6000 after 6000 ms, 1 stall\n"
                     "[ 6000] 5/1 > over: gone at 6000 after 6000 ms, 1 stall\n"
                     "[ 7000] 3/1 > over: gone at 7000 after 7000 ms, 1 stall\n");
    sim_counts(world);
    SIM_TRACE(world, "[15500] ripd > 1 running 1 exited 1 dead\n");
}

/* The id moves every 6.5 seconds: one episode, not ten. */
TEST(trap_17_flapping_is_one_episode, sim_set_up, sim_tear_down)
{
    struct sim_world *world = *state;

    sim_add(world, "7/71", 10);
    for (int i = 0; i < 10; i++) {
        sim_freeze(world, "7/71");
        sim_run(world, 6000);
        sim_thaw(world, "7/71");
        sim_run(world, 500);
    }
    SIM_TRACE(world, "[ 5000] 7/71 > stalled, unknown\n");
    assert_int_equal(sim_cases(world).open_count, 1);
    sim_run(world, 10000);
    SIM_TRACE(world, "[71000] 7/71 > over: moved at 65000 after 65000 ms, 10 stalls\n");
    assert_int_equal(sim_cases(world).open_count, 0);
}

/* The stall of another user is reported at once. No begin is lost, and no end comes without its begin. */
TEST(trap_17_what_exceeds_a_quota_waits)
{
    struct sim_world *world = sim_new((struct sim_options){.seed = 1, .events_max = 6});

    for (uint32_t slot = 0; slot < 6; slot++) {
        sim_add(world, sim_place(7, slot).text, 10);
        sim_freeze(world, sim_place(7, slot).text);
    }
    sim_add(world, "17/1", 10);
    sim_freeze(world, "17/1");
    sim_run(world, 5500);
    SIM_TRACE(world, "[ 5000] 7/0 > stalled, unknown\n"
                     "[ 5000] 17/1 > stalled, unknown\n"
                     "[ 5000] 7/1 > stalled, unknown\n"
                     "[ 5000] 7/2 > stalled, unknown\n");
    assert_int_equal(sim_cases(world).waiting_count, 3);
    sim_exit(world, "7/0");
    sim_exit(world, "7/3");
    sim_run(world, 3000);
    SIM_TRACE(world, "[ 6000] 7/0 > over: gone at 6000 after 6000 ms, 1 stall\n"
                     "[ 6000] 7/3 > stalled, unknown\n"
                     "[ 6000] 7/3 > over: gone at 6000 after 6000 ms, 1 stall\n"
                     "[ 7000] 7/4 > stalled, unknown\n"
                     "[ 7000] 7/5 > stalled, unknown\n");
    assert_int_equal(sim_cases(world).belated_count, 1);
    assert_int_equal(sim_cases(world).suppressed_count, 0);
    sim_unlink(world, 7);
    sim_unlink(world, 17);
    sim_run(world, 3000);
    assert_int_equal(sim_cases(world).open_count, 0);
    sim_take_trace(world);
    sim_free(world);
}

/* The budget is one suspect per scan: all stall at once, and each begin waits until its id is examined. */
TEST(a_budget_for_evidence)
{
    struct sim_world *world = sim_new((struct sim_options){.seed = 1, .evidence_max = 1, .records = true});

    sim_add(world, "7/1", 10);
    sim_add(world, "7/2", 10);
    sim_add(world, "7/3", 10);
    sim_block(world, "7/1", 'D');
    sim_block(world, "7/2", 'D');
    sim_park(world, "7/3");
    sim_run(world, 5000);
    sim_counts(world);
    SIM_TRACE(world, "[ 5000] 7/1 > stalled, uninterruptible\n"
                     "[ 5000] ripd > 3 stalled\n");
    sim_run(world, 2000);
    sim_look(world, "7/1");
    sim_look(world, "7/2");
    sim_look(world, "7/3");
    SIM_TRACE(world, "[ 6000] 7/2 > stalled, uninterruptible\n"
                     "[ 7000] 7/3 > stalled, parked\n"
                     "[ 7000] 7/1 > is stalled, uninterruptible\n"
                     "[ 7000] 7/2 > is stalled, uninterruptible\n"
                     "[ 7000] 7/3 > is stalled, parked\n");
    sim_stop(world, 7, 'T'); /* also found one by one */
    sim_run(world, 1000);
    sim_counts(world);
    sim_run(world, 2000);
    sim_counts(world);
    SIM_TRACE(world, "[ 8000] ripd > 2 stalled 1 stopped\n"
                     "[10000] ripd > 3 stopped\n");
    sim_run(world, 30000);
    SIM_TRACE(world, "[14000] 7/1 > over: stopped at 8000 after 8000 ms, 1 stall\n"
                     "[15000] 7/2 > over: stopped at 9000 after 9000 ms, 1 stall\n"
                     "[16000] 7/3 > over: stopped at 10000 after 10000 ms, 1 stall\n");
    sim_free(world);
}
