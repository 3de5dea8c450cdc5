/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_examine.c - threads that are ready to run and threads that wait, over several calls: ripd/probe/evidence.c. The
 * process holds no lock of its ring, so the probe reads only what needs no privilege. tests/e2e/zoo has the rest.
 */
#include "unit/probe_play.h"

enum { SLEEPER, SPINNER, THREADS };

#define MS UINT64_C(1000000)

static volatile uint64_t spun;

static void *spin(void *context)
{
    play_send_tid((size_t)(uintptr_t)context);
    for (;;)
        spun++;
    return NULL;
}

static void be_child(void *context)
{
    (void)context;
    play_start_threads(SPINNER, spin);
}

static int set_up(void **state)
{
    (void)state;
    play_new();

    play_add_process(0, THREADS, 0, be_child, NULL);
    scene_refresh();
    return 0;
}

static enum id_cause cause_of(size_t suspect)
{
    return cause_judge(&play_case(suspect)->evidence).cause;
}

/* One call gives a verdict. On a busy machine the thread may have had no processor meanwhile. */
TEST(a_verdict_in_the_first_call, set_up, play_free)
{
    const struct kernel_facts *facts;

    assert_int_equal(play_collect(), 0);
    assert_int_equal(play_case(SPINNER)->evidence.thread_state, 'R');
    assert_true(cause_of(SPINNER) == CAUSE_SPINNING || cause_of(SPINNER) == CAUSE_STARVED);
    facts = play_case(SPINNER)->kernel;
    assert_non_null(facts);
    assert_true(facts->window_ns != KERNEL_UNKNOWN && facts->window_ns >= 12 * MS);
    assert_null(facts->syscall);
    for (int i = 0; i < 1000 && cause_of(SPINNER) != CAUSE_SPINNING; i++) {
        usleep(30000);
        assert_int_equal(play_collect(), 0);
    }
    assert_int_equal(cause_of(SPINNER), CAUSE_SPINNING);
    assert_true(play_case(SPINNER)->kernel->cpu_ns > 0);
}

/* Without time for a second look the thread is not examined. The next call examines it. */
TEST(too_little_time_for_two_looks, set_up, play_free)
{
    for (int i = 0; i == 0 || (i < 1000 && cause_of(SPINNER) != CAUSE_NONE); i++) {
        play_open_own_probe("/proc", 10 * MS);
        play_collect(); /* on a busy machine there may be enough time between two looks */
    }
    assert_int_equal(cause_of(SPINNER), CAUSE_NONE);
    for (int i = 0; i < 1000 && cause_of(SPINNER) == CAUSE_NONE; i++) {
        usleep(20000);
        play_collect();
    }
    assert_true(cause_of(SPINNER) == CAUSE_SPINNING || cause_of(SPINNER) == CAUSE_STARVED);
}

/* The wait for a second look never exceeds the budget, except on a busy machine: so the shortest call counts. */
TEST(a_call_keeps_to_its_budget, set_up, play_free)
{
    uint64_t shortest_ns = UINT64_MAX;

    for (int i = 0; i < 50; i++) {
        uint64_t began_mono_ns, took_ns;

        play_open_own_probe("/proc", 20 * MS);
        began_mono_ns = clock_mono_ns();
        play_collect();
        took_ns = clock_mono_ns() - began_mono_ns;
        shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
    }
    assert_true(shortest_ns < 25 * MS);
}

/* A thread that waits needs one look. If the kernel denies what it waits for, the cause is unknown. */
TEST(nothing_is_guessed, set_up, play_free)
{
    const struct kernel_facts *facts;

    assert_int_equal(play_collect(), 0);
    facts = play_case(SLEEPER)->kernel;
    assert_non_null(facts);
    assert_int_equal(facts->state, 'S');
    assert_true((facts->denied & KERNEL_DENIED(SYSCALL)) != 0 && (facts->denied & KERNEL_DENIED(WCHAN)) != 0);
    assert_null(facts->syscall);
    assert_string_equal(facts->wchan, "");
    assert_int_equal(play_case(SLEEPER)->evidence.wait, WAIT_UNKNOWN);
    assert_int_equal(cause_of(SLEEPER), CAUSE_UNKNOWN);
}

/* The window begins with the first look since the id last moved. */
TEST(the_window_grows, set_up, play_free)
{
    uint64_t window_ns;

    play_collect();
    usleep(50000);
    play_collect();
    window_ns = play_case(SLEEPER)->kernel->window_ns;
    assert_true(window_ns != KERNEL_UNKNOWN && window_ns >= 50 * MS);
    play.suspects[SLEEPER].progress++; /* another stall */
    play_collect();
    assert_int_equal(play_case(SLEEPER)->kernel->window_ns, KERNEL_UNKNOWN);
    play_examine(0);
    probe_end(play.probe);
    assert_null(play_case(SLEEPER)->kernel);
}
