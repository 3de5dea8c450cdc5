/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_registry_thread.c - which threads exist, and which are gone: ripd/ring/registry_thread.c. For threads in other
 * pid namespaces see test_registry_process.c.
 */
#include "unit/registry_test.h"

#include <librip.h>
#include <pthread.h>
#include <sys/syscall.h>

static void *end_at_once(void *tid)
{
    *(uint32_t *)tid = (uint32_t)syscall(SYS_gettid);
    return NULL;
}

static void *live_on(void *context)
{
    for (;;)
        pause();
    return context;
}

static void open_ring(void *path)
{
    pthread_t thread;

    if (!rip_create_ring(path, 100) || pthread_create(&thread, NULL, live_on, NULL) != 0)
        abort();
    rip_init(1, "one", 3, 0, 0);
}

static void end_alone(void *context)
{
    pthread_exit(context);
}

static bool exists(const struct ring *ring, uint32_t tid)
{
    bool has = registry_has_thread(scene.registry, ring, 0, tid);

    assert_int_equal(registry_is_gone(scene.registry, ring, 0, tid), !has);
    return has;
}

SCENE(threads_that_end)
{
    pthread_t thread;
    struct ring *ring;
    uint32_t tid;

    make_ring("ring", true);
    scene_refresh();
    ring = ring_named("ring");
    assert_true(exists(ring, (uint32_t)getpid()));
    assert_int_equal(pthread_create(&thread, NULL, end_at_once, &tid), 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < 10000 && registry_has_thread(scene.registry, ring, 0, tid); i++)
        usleep(1000);
    assert_false(exists(ring, tid));
    assert_false(exists(ring, 1)); /* of another process */
    assert_false(registry_has_thread(scene.registry, ring, 1, tid) || registry_is_gone(scene.registry, ring, 1, tid));
}

/* The first thread stays in /proc as long as others live, and its tid is not reused. */
SCENE(a_first_thread_that_ends)
{
    char path[128];
    struct ring *ring;
    pid_t pid;

    strcpy(path, path_of("ring"));
    pid = ring_stage_start(open_ring, end_alone, path);
    scene_refresh();
    ring = ring_named("ring");
    assert_true(exists(ring, (uint32_t)pid));
    ring_stage_go(pid);
    for (int i = 0; i < 10000 && registry_has_thread(scene.registry, ring, 0, (uint32_t)pid); i++)
        usleep(1000);
    assert_false(exists(ring, (uint32_t)pid));
    ring_stage_end(pid);
    assert_false(registry_is_gone(scene.registry, ring, 0, (uint32_t)pid)); /* unknown: the process is gone */
    assert_false(registry_is_gone(scene.registry, ring, 0, 4000000));
}

static int find_holder(const char *name, uint32_t tid, uint64_t deadline_mono_ns, uint32_t *ret_ring)
{
    uint32_t process = UINT32_MAX;
    int result = registry_find_holder(scene.registry, ring_named(name), 0, tid, deadline_mono_ns, ret_ring, &process);

    assert_int_equal(process, result == 0 ? 0 : UINT32_MAX);
    return result;
}

SCENE(the_process_of_a_thread)
{
    uint32_t pids[2], ring = 0;
    char paths[2][128];

    make_ring("mine", true); /* alive, but not attested */
    for (int i = 0; i < 2; i++) {
        strcpy(paths[i], ring_stage_path(&scene.stage, i == 0 ? "one" : "other"));
        pids[i] = (uint32_t)ring_stage_start(open_ring, NULL, paths[i]);
    }
    scene_refresh();
    assert_int_equal(find_holder("one", pids[0], 0, &ring), 0); /* a thread of the same process needs no time */
    assert_int_equal(ring, serial_of("one"));
    assert_int_equal(find_holder("one", pids[1], UINT64_MAX, &ring), 0);
    assert_int_equal(ring, serial_of("other"));
    assert_int_equal(find_holder("one", pids[1], 0, &ring), -EAGAIN);
    assert_int_equal(find_holder("one", (uint32_t)getpid(), UINT64_MAX, &ring), -ESRCH);
    assert_int_equal(find_holder("mine", pids[1], UINT64_MAX, &ring), -ESRCH);
    assert_int_equal(find_holder("one", 4000000, UINT64_MAX, &ring), -ESRCH);
    ring_stage_end((pid_t)pids[1]);
    assert_int_equal(find_holder("one", pids[1], UINT64_MAX, &ring), -ESRCH);
    ring_stage_end((pid_t)pids[0]);
}
