/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_evidence_stopped.c - the evidence of threads whose whole process is stopped, and that it delays no other id:
 * ripd/probe/evidence.c. There are two processes, one of which is stopped. tests/e2e/zoo has the evidence that needs
 * root. The clock is real, or advances by a step whenever it is read, so that budgets end at the same point each time.
 */
#include "unit/probe_play.h"

enum { THREADS = 100, RUNS = 0, STOPS = 1, COUNT = 2 * THREADS }; /* suspects of the stopped process come first */

static uint64_t step_ns; /* of each reading of the clock; 0 = the real clock */
static uint64_t clock_ns;

uint64_t __real_clock_mono_ns(void);
uint64_t __wrap_clock_mono_ns(void);

uint64_t __wrap_clock_mono_ns(void)
{
    if (step_ns == 0)
        clock_ns = __real_clock_mono_ns();
    return clock_ns += step_ns;
}

static void be_child(void *context)
{
    (void)context;
    play_start_threads(THREADS - 1, play_wait);
}

static int set_up(void **state)
{
    (void)state;
    play_new();

    play_add_process(STOPS, THREADS, 0, be_child, NULL);
    play_add_process(RUNS, THREADS, 0, be_child, NULL);
    scene_refresh();
    return 0;
}

static int tear_down(void **state)
{
    step_ns = 0;
    return play_free(state);
}

/* Sends the signal, and waits until the process's first thread is in that state. */
static void stop(int number, char letter)
{
    kill(play.pids[STOPS], number);
    play_await(play.pids[STOPS], letter);
}

/* Collects, and gives the suspects their verdicts. */
static size_t collect(void)
{
    size_t left = play_collect();

    play_take_verdicts();
    return left;
}

/* Collects until all threads wait. After a start or SIGCONT a thread may still be ready to run. */
static void collect_until_all_wait(void)
{
    size_t waiting = 0;

    for (int i = 0; i < 1000 && waiting < COUNT; i++) {
        collect();
        waiting = 0;
        for (size_t j = 0; j < COUNT; j++)
            waiting += play_case(j)->evidence.examined && play_case(j)->evidence.thread_state == 'S';
    }
    assert_int_equal(waiting, COUNT);
}

/* Collects until every thread has facts. Meanwhile no thread has other facts than that it is stopped. */
static void collect_all_stopped(void)
{
    size_t count = 0;

    for (int i = 0; i < 1000 && count < THREADS; i++) {
        collect();
        count = 0;
        for (size_t j = 0; j < THREADS; j++)
            count += play_case(j)->kernel != NULL && play_case(j)->kernel->state == 'T';
        for (size_t j = 0; j < THREADS; j++)
            assert_true(play_case(j)->kernel == NULL || play_case(j)->kernel->state == 'T');
    }
}

static void assert_state(size_t first, enum id_state state, char letter)
{
    for (size_t i = first; i < first + THREADS; i++) {
        assert_int_equal(play.suspects[i].state, state);
        assert_non_null(play_case(i)->kernel);
        assert_int_equal(play_case(i)->kernel->state, letter);
    }
}

/* Facts are current: before the stop, during the stop, and after it. */
TEST(before_during_and_after_a_stop, set_up, tear_down)
{
    collect_until_all_wait();
    assert_state(0, ID_STALLED, 'S');
    stop(SIGSTOP, 'T');
    collect_all_stopped();
    assert_state(0, ID_STOPPED, 'T');
    assert_state(THREADS, ID_STALLED, 'S');
    assert_int_equal(collect(), 0);
    assert_state(0, ID_STOPPED, 'T');
    stop(SIGCONT, 'S');
    collect_until_all_wait();
    assert_state(0, ID_STALLED, 'S');
}

/* Without time for a look, no old facts are shown. The facts that hold for every stopped thread are. */
TEST(no_time_for_a_look, set_up, tear_down)
{
    assert_int_equal(collect(), 0);
    stop(SIGSTOP, 'T');
    play.suspects[3].tid = 0; /* on no thread */
    probe_set_budget(play.probe, 2000000);
    collect();
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(play.suspects[i].state, ID_STOPPED);
        assert_true(play_case(i)->kernel == NULL || play_case(i)->kernel->state == 'T');
    }
    assert_null(play_case(3)->kernel);
    assert_int_equal(probe_stopped_facts(play.probe)->state, 'T');
    assert_null(probe_stopped_facts(play.probe)->syscall);
}

/* Even if a busy machine makes it start late, each call queries one process, and processes take turns. */
TEST(one_process_at_least, set_up, tear_down)
{
    size_t count = 0;

    stop(SIGSTOP, 'T');
    step_ns = PLAY_AMPLE_NS;
    for (size_t i = 0; i < COUNT / THREADS; i++) { /* processes */
        collect();
        count += play.suspects[0].state == ID_STOPPED;
    }
    step_ns = 0;
    assert_int_equal(count, 1);
}

static size_t count_known(void)
{
    size_t count = 0;

    for (size_t i = 0; i < THREADS; i++)
        count += play_case(i)->kernel != NULL;
    return count;
}

/* Stopped threads are looked at after all others. With a growing budget they get their turn. */
TEST(the_stopped_come_last, set_up, tear_down)
{
    size_t known = 0, calls = 0, short_calls = 0;

    collect_until_all_wait(); /* a thread that is ready to run would not be examined at the first look */
    stop(SIGSTOP, 'T');
    play_open_own_probe("/proc", 1000000);
    step_ns = 10000;
    while (known < THREADS) {
        size_t before = known, examined = 0;

        assert_true(calls++ < 1000);
        if (calls > 10)
            probe_set_budget(play.probe, 1000000 * calls);
        for (size_t i = THREADS; i < COUNT; i++) /* these are new in each scan */
            play.suspects[i].state = ID_RUNNING;
        collect();
        known = count_known();
        for (size_t i = THREADS; i < COUNT; i++)
            examined += play_case(i)->evidence.examined;
        short_calls += examined < THREADS;
        assert_true(known == before || examined == THREADS);
    }
    step_ns = 0;
    print_message("%zu calls, %zu of them too short for the other process\n", calls, short_calls);
    assert_true(short_calls >= 10);
}

/* After one look the probe waits a while before the next, because a stopped thread does nothing. */
TEST(stopped_threads_are_rarely_looked_at, set_up, tear_down)
{
    const struct kernel_facts *facts;

    stop(SIGSTOP, 'T');
    collect_all_stopped();
    assert_state(0, ID_STOPPED, 'T');
    facts = play_case(5)->kernel;
    usleep(20000);
    collect();
    assert_ptr_equal(play_case(5)->kernel, facts);
    assert_int_equal(facts->window_ns, KERNEL_UNKNOWN);
}

/* Doubted suspects are examined again. If there is no time for that, they keep their evidence. */
TEST(no_time_for_doubts, set_up, tear_down)
{
    collect_until_all_wait();
    play_examine(COUNT);
    for (size_t i = 0; i < COUNT; i++)
        play_case(i)->doubted = true;
    step_ns = PLAY_AMPLE_NS;
    assert_true(probe_confirm(play.probe));
    step_ns = 0;
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(play_case(i)->evidence.examined);
        assert_non_null(play_case(i)->kernel);
    }
    assert_true(probe_confirm(play.probe)); /* still doubted */
    for (size_t i = 0; i < COUNT; i++)
        assert_true(play_case(i)->evidence.examined);
    probe_end(play.probe);
}

/* Without time even to query the processes, suspects keep their facts. */
TEST(no_time_for_processes, set_up, tear_down)
{
    struct kernel_facts *facts[COUNT];

    collect_until_all_wait();
    for (size_t i = 0; i < COUNT; i++)
        facts[i] = play_case(i)->kernel;
    step_ns = PLAY_AMPLE_NS;
    collect();
    step_ns = 0;
    for (size_t i = 0; i < COUNT; i++) {
        assert_false(play_case(i)->evidence.examined);
        assert_ptr_equal(play_case(i)->kernel, facts[i]);
    }
}
