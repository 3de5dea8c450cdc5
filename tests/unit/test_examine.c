/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_examine.c - threads that are ready to run, and threads that wait, over several calls: ripd/probe/examine.c. The
 * process holds no lock of its ring, so only what anyone is told is asked of it; tests/e2e/zoo has the rest.
 */
#include "registry_test.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "os/clock.h"
#include "probe/evidence.h"

enum { SLEEPER, SPINNER, THREADS };

#define MS UINT64_C(1000000)

static const uint64_t ample_ns = 5000 * MS;

struct play {
    struct scene *scene;
    struct ring_builder ring;
    struct probe *probe;
    struct detector_suspect suspects[THREADS];
    pid_t pid;
};
static uint32_t *tids; /* of the child's threads, shared */
static volatile uint64_t spun;

static void *spin(void *context)
{
    (void)context;
    __atomic_store_n(&tids[SPINNER], (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    for (;;)
        spun++;
    return NULL;
}

static void start_threads(void *context)
{
    pthread_t thread;

    (void)context;
    tids[SLEEPER] = (uint32_t)getpid();
    if (pthread_create(&thread, NULL, spin, NULL) != 0)
        abort();
    while (__atomic_load_n(&tids[SPINNER], __ATOMIC_ACQUIRE) == 0)
        usleep(100);
}

static void open_probe(struct play *play, uint64_t budget_ns)
{
    const struct probe_options options = {
        .proc_path = "/proc", .cgroup_path = "/sys/fs/cgroup", .budget_ns = budget_ns, .diag = -1};

    probe_free(play->probe);
    assert_int_equal(probe_new(&play->probe, &options), 0);
}

static int set_up(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = THREADS};
    struct play *play = calloc(1, sizeof(*play));
    void *scene;

    assert_non_null(play);
    tids = mmap(NULL, THREADS * sizeof(*tids), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(tids, MAP_FAILED);
    scene_open(&scene);
    play->scene = scene;
    play->pid = ring_stage_start(start_threads, NULL, NULL);
    ring_stage_build(&play->scene->stage, "ring", &geometry, &play->ring);
    ring_builder_add_process(&play->ring, 0, (uint32_t)play->pid, ring_stage_start_time(play->pid), "child");
    ring_builder_process(&play->ring, 0)->flags = 0;
    ring_builder_process(&play->ring, 0)->pid_namespace = ring_stage_pid_namespace();
    usleep(20000); /* ticks: the ids are registered after their threads have started */
    for (uint32_t slot = 0; slot < THREADS; slot++) {
        ring_builder_add_id(&play->ring, slot, slot + 1, tids[slot], 0, "worker");
        ring_builder_slot(&play->ring, slot)->registered_boot_ns = clock_boot_ns();
        play->suspects[slot] = (struct detector_suspect){
            .ring = 1,
            .slot = slot,
            .generation = ring_builder_slot(&play->ring, slot)->generation,
            .tid = tids[slot],
            .frozen_since_ns = 1000 + slot,
            .state = ID_RUNNING,
        };
    }
    open_probe(play, ample_ns);
    scene_refresh(play->scene);
    *state = play;
    return 0;
}

static int tear_down(void **state)
{
    struct play *play = *state;
    void *scene = play->scene;

    ring_stage_end(play->pid);
    probe_free(play->probe);
    ring_stage_release(&play->ring);
    scene_close(&scene);
    munmap(tids, THREADS * sizeof(*tids));
    free(play);
    return 0;
}

static size_t collect(struct play *play)
{
    for (size_t i = 0; i < THREADS; i++)
        play->suspects[i].evidence = (struct evidence){0};
    return evidence_collect(play->probe, play->scene->registry, play->suspects, THREADS);
}

static enum id_cause cause_of(const struct play *play, size_t suspect)
{
    return cause_judge(&play->suspects[suspect].evidence).cause;
}

/* One call is enough to tell, though on a busy machine it may have got no processor meanwhile. */
static void test_a_verdict_at_the_first_call(void **state)
{
    struct play *play = *state;
    const struct kernel_facts *facts;

    assert_int_equal(collect(play), 0);
    assert_int_equal(play->suspects[SPINNER].evidence.thread_state, 'R');
    assert_true(cause_of(play, SPINNER) == CAUSE_SPINNING || cause_of(play, SPINNER) == CAUSE_STARVED);
    facts = play->suspects[SPINNER].kernel;
    assert_non_null(facts);
    assert_true(facts->window_ns != KERNEL_UNKNOWN && facts->window_ns >= 12 * MS);
    assert_null(facts->syscall);
    for (int i = 0; i < 1000 && cause_of(play, SPINNER) != CAUSE_SPINNING; i++) {
        usleep(30000);
        assert_int_equal(collect(play), 0);
    }
    assert_int_equal(cause_of(play, SPINNER), CAUSE_SPINNING);
    assert_true(play->suspects[SPINNER].kernel->cpu_ns > 0);
}

/* No time for a second look: not examined yet, rather than a guess; on the next call it is. */
static void test_too_little_time_for_two_looks(void **state)
{
    struct play *play = *state;

    for (int i = 0; i == 0 || (i < 1000 && cause_of(play, SPINNER) != CAUSE_NONE); i++) {
        open_probe(play, 10 * MS);
        collect(play); /* put aside in the middle of it, there is time enough between two looks */
    }
    assert_int_equal(cause_of(play, SPINNER), CAUSE_NONE);
    for (int i = 0; i < 1000 && cause_of(play, SPINNER) == CAUSE_NONE; i++) {
        usleep(20000);
        collect(play);
    }
    assert_true(cause_of(play, SPINNER) == CAUSE_SPINNING || cause_of(play, SPINNER) == CAUSE_STARVED);
}

/* The wait for a second look never exceeds the budget, but for a machine that has put us aside. */
static void test_a_call_keeps_to_its_budget(void **state)
{
    struct play *play = *state;
    uint64_t shortest_ns = UINT64_MAX;

    for (int i = 0; i < 50; i++) {
        uint64_t began_mono_ns, took_ns;

        open_probe(play, 20 * MS);
        began_mono_ns = clock_mono_ns();
        collect(play);
        took_ns = clock_mono_ns() - began_mono_ns;
        shortest_ns = took_ns < shortest_ns ? took_ns : shortest_ns;
    }
    assert_true(shortest_ns < 25 * MS);
}

/* One that waits has its verdict at once; without being told for what, that is none. */
static void test_nothing_is_guessed(void **state)
{
    struct play *play = *state;
    const struct kernel_facts *facts;

    assert_int_equal(collect(play), 0);
    facts = play->suspects[SLEEPER].kernel;
    assert_non_null(facts);
    assert_int_equal(facts->state, 'S');
    assert_true((facts->denied & KERNEL_DENIED(SYSCALL)) != 0 && (facts->denied & KERNEL_DENIED(WCHAN)) != 0);
    assert_null(facts->syscall);
    assert_string_equal(facts->wchan, "");
    assert_int_equal(play->suspects[SLEEPER].evidence.wait, WAIT_UNKNOWN);
    assert_int_equal(cause_of(play, SLEEPER), CAUSE_UNKNOWN);
}

/* The window begins with the first look, as long as the id does not move. */
static void test_the_window_grows(void **state)
{
    struct play *play = *state;
    uint64_t window_ns;

    collect(play);
    usleep(50000);
    collect(play);
    window_ns = play->suspects[SLEEPER].kernel->window_ns;
    assert_true(window_ns != KERNEL_UNKNOWN && window_ns >= 50 * MS);
    assert_ptr_equal(evidence_kernel(play->probe, 1, SLEEPER, play->suspects[SLEEPER].generation),
                     play->suspects[SLEEPER].kernel);
    play->suspects[SLEEPER].progress++; /* another stall */
    collect(play);
    assert_int_equal(play->suspects[SLEEPER].kernel->window_ns, KERNEL_UNKNOWN);
    evidence_collect(play->probe, play->scene->registry, play->suspects, 0);
    assert_null(evidence_kernel(play->probe, 1, SLEEPER, play->suspects[SLEEPER].generation));
}

int main(void)
{
#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SCENE_TEST(test_a_verdict_at_the_first_call),
        SCENE_TEST(test_too_little_time_for_two_looks),
        SCENE_TEST(test_a_call_keeps_to_its_budget),
        SCENE_TEST(test_nothing_is_guessed),
        SCENE_TEST(test_the_window_grows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
