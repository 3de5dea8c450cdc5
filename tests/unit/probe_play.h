/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_play.h - for tests of the probe: children, a ring with an id for each of their threads, and a suspect for each
 * id. /proc, the children and their threads are real, the ring is made of ring.h alone.
 */
#ifndef TESTS_UNIT_PROBE_PLAY_H
#define TESTS_UNIT_PROBE_PLAY_H

#include "unit/registry_test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "os/clock.h"
#include "probe/evidence.h"
#include "work/jobs.h"

enum { PLAY_PROCESSES = 2, PLAY_THREADS_MAX = 128, PLAY_SUSPECTS_MAX = 1024 };

#define PLAY_AMPLE_NS UINT64_C(5000000000) /* a budget that is enough for all suspects */

/* All zero between tests. */
static struct play {
    struct ring_builder ring; /* "ring" */
    struct probe *probe;
    struct work *work;
    struct cases *cases; /* new with each probe */
    struct detector_suspect suspects[PLAY_SUSPECTS_MAX];
    size_t count;
    pid_t pids[PLAY_PROCESSES]; /* by record; 0 = none */
} play;

/* The tids of the child that was started last, in memory that is shared with it. */
static uint32_t *play_tids;

/* Called by each thread except the first, which has number 0. */
static inline void play_send_tid(size_t thread)
{
    __atomic_store_n(&play_tids[thread], (uint32_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
}

static inline void *play_wait(void *context)
{
    play_send_tid((size_t)(uintptr_t)context);
    for (;;)
        pause();
    return NULL;
}

/* In a child: starts count threads in addition to the first, and waits until they run. */
static inline void play_start_threads(size_t count, void *(*body)(void *context))
{
    pthread_t thread;

    play_tids[0] = (uint32_t)getpid();
    for (uintptr_t i = 1; i <= count; i++)
        if (pthread_create(&thread, NULL, body, (void *)i) != 0)
            abort();
    for (size_t i = 1; i <= count; i++)
        while (__atomic_load_n(&play_tids[i], __ATOMIC_ACQUIRE) == 0)
            usleep(100);
}

static inline void play_open_probe(const struct probe_options *options)
{
    probe_free(play.probe);
    play.probe = NULL;
    cases_free(play.cases);
    play.cases = cases_new(play.work, 0);
    assert_non_null(play.cases);
    assert_int_equal(probe_new(&play.probe, options), 0);
}

/* Opens a probe that reads /proc itself, without a worker. */
static inline void play_open_own_probe(const char *proc_path, uint64_t budget_ns)
{
    const struct probe_options options = {
        .proc_path = proc_path, .cgroup_path = "/sys/fs/cgroup", .budget_ns = budget_ns, .diag = -1};

    play_open_probe(&options);
}

/* Adds a suspect in the next slot: a thread of the process of a record; tid 0 = on no thread. */
static inline void play_add_suspect(uint16_t record, uint32_t tid)
{
    uint32_t slot = (uint32_t)play.count++;

    ring_builder_add_id(&play.ring, slot, slot + 1, tid, record, "worker");
    ring_builder_slot(&play.ring, slot)->registered_boot_ns = clock_boot_ns();
    play.suspects[slot] = (struct detector_suspect){
        .ring = 1,
        .slot = slot,
        .generation = ring_builder_slot(&play.ring, slot)->generation,
        .process = record,
        .tid = tid,
        .frozen_since_ns = 1000 + slot,
        .state = ID_RUNNING,
    };
}

/*
 * Starts a child for that record, and adds its threads as suspects. It holds no lock unless flags say so. body starts
 * the threads, which write their tids.
 */
static inline void play_add_process(uint16_t record, size_t thread_count, uint32_t flags, void (*body)(void *context),
                                    void *context)
{
    memset(play_tids, 0, PLAY_THREADS_MAX * sizeof(*play_tids));
    play.pids[record] = ring_stage_start(body, NULL, context);
    ring_builder_add_process(&play.ring, record, (uint32_t)play.pids[record], ring_stage_start_time(play.pids[record]),
                             "child");
    ring_builder_process(&play.ring, record)->flags = flags;
    ring_builder_process(&play.ring, record)->pid_namespace = ring_stage_pid_namespace();
    usleep(20000); /* start times have ticks: an id is registered after its thread started */
    for (size_t i = 0; i < thread_count; i++)
        play_add_suspect(record, play_tids[i]);
}

/* Makes a stage, a ring without processes, and a probe that reads itself and has time for everything. */
static inline void play_new(void)
{
    const struct ring_geometry geometry = {.slot_capacity = PLAY_SUSPECTS_MAX};
    play_tids =
        mmap(NULL, PLAY_THREADS_MAX * sizeof(*play_tids), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(play_tids, MAP_FAILED);
    play.work = work_new();
    assert_non_null(play.work);
    scene_open(NULL);
    ring_stage_build(&scene.stage, "ring", &geometry, &play.ring);
    play_open_own_probe("/proc", PLAY_AMPLE_NS);
}

static inline int play_free(void **state)
{
    (void)state;
    for (size_t i = 0; i < PLAY_PROCESSES; i++)
        if (play.pids[i] != 0)
            ring_stage_end(play.pids[i]);
    probe_free(play.probe);
    cases_free(play.cases);
    work_free(play.work);
    ring_stage_release(&play.ring);
    scene_close(NULL);
    munmap(play_tids, PLAY_THREADS_MAX * sizeof(*play_tids));
    play = (struct play){.count = 0};
    return 0;
}

/* Returns the case of a suspect; an empty case if it has none. */
static inline struct stall_case *play_case(size_t suspect)
{
    static struct stall_case none;
    const struct detector_suspect *wanted = &play.suspects[suspect];
    struct stall_case *found = cases_find(play.cases, wanted->ring, wanted->slot, wanted->generation);

    none = (struct stall_case){0};
    return found != NULL ? found : &none;
}

static inline uint32_t play_user_of(void *context, uint32_t ring)
{
    (void)context;
    return ring;
}

/* Collects one scan's evidence of the first count suspects. Returns how many were not examined. */
static inline size_t play_examine(size_t count)
{
    size_t left = 0;

    work_begin(play.work);
    assert_int_equal(cases_begin(play.cases, play.suspects, count, play_user_of, NULL), 0);
    probe_examine(play.probe, scene.registry, play.cases, play.work);
    for (size_t i = 0; i < count; i++)
        left += !play_case(i)->evidence.examined;
    return left;
}

/* The same for all suspects; then ends the scan. */
static inline size_t play_collect(void)
{
    size_t left = play_examine(play.count);

    probe_end(play.probe);
    return left;
}

/* Gives the suspects their verdicts, as the detector does for the next scan. */
static inline void play_take_verdicts(void)
{
    for (size_t i = 0; i < play.count; i++) {
        struct verdict verdict = cause_judge(&play_case(i)->evidence);

        play.suspects[i].state = verdict.state;
        play.suspects[i].cause = verdict.cause;
    }
}

/* Waits until a process or thread is in that state. */
static inline void play_await(pid_t tid, char letter)
{
    for (int i = 0; i < 10000 && ring_stage_state(tid) != letter; i++)
        usleep(1000);
    assert_int_equal(ring_stage_state(tid), letter);
}

#endif
