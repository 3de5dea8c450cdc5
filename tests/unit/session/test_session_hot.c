/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_hot.c - a session on a running program: threads that snap without pause and at several rates, and
 * threads that end between two drains. The address of each snap is computed from its number.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <librip.h>

#include "rip/session.h"
#include "support/ring_stage.h"
#include "support/test.h"

#define BUSY_THREADS 4u
#define SHORT_THREADS 600u
#define PATIENCE_NS UINT64_C(90000000000)
#define SNAPS_MAX 100u /* of a short thread: several times the length of a trail */

static const void *address_of(uint64_t snap)
{
    return (const void *)(uintptr_t)(snap * 16);
}

/* The program ------------------------------------------------------------------------------------------------------ */

static atomic_bool stopped;
static _Atomic uint64_t made_count;

static void *snap_until_stopped(void *context)
{
    const unsigned pause = *(const unsigned *)context;
    uint64_t count = 0;

    rip_init(0, "busy", 4, 0, 0);
    while (!atomic_load_explicit(&stopped, memory_order_relaxed)) {
        rip_snap_at(address_of(++count));
        for (atomic_uint i = 0; atomic_load_explicit(&i, memory_order_relaxed) < pause;)
            atomic_fetch_add_explicit(&i, 1, memory_order_relaxed);
    }
    atomic_fetch_add(&made_count, count);
    return NULL;
}

static void *snap_and_exit(void *context)
{
    const uint64_t count = *(const unsigned *)context;

    rip_init(0, "short", 5, 0, 0);
    for (uint64_t i = 1; i <= count; i++)
        rip_snap_at(address_of(i));
    atomic_fetch_add(&made_count, count);
    return NULL;
}

/* Runs the program, and writes the number of its snaps to `output`. */
static void run_program(const char *ring, int output)
{
    pthread_t busy[BUSY_THREADS], one;
    unsigned pauses[BUSY_THREADS] = {0, 10, 100, 1000};
    uint64_t count;

    if (!rip_create_ring(ring, 64))
        _exit(1);
    for (unsigned i = 0; i < BUSY_THREADS; i++)
        if (pthread_create(&busy[i], NULL, snap_until_stopped, &pauses[i]) != 0)
            _exit(1);
    for (unsigned i = 0; i < SHORT_THREADS; i++) {
        unsigned snaps = i % SNAPS_MAX;

        if (pthread_create(&one, NULL, snap_and_exit, &snaps) != 0 || pthread_join(one, NULL) != 0)
            _exit(1);
        if (i % 8 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    atomic_store(&stopped, true);
    for (unsigned i = 0; i < BUSY_THREADS; i++)
        pthread_join(busy[i], NULL);
    count = atomic_load(&made_count);
    if (write(output, &count, sizeof(count)) != (ssize_t)sizeof(count))
        _exit(1);
    exit(0); /* exits in order */
}

/* The session ------------------------------------------------------------------------------------------------------ */

struct observed {
    uint64_t register_count, exit_count, entry_count, overwritten_count, wrong_count, unequal_count;
    struct rip_event_totals totals;
    bool in_order;
    bool is_over;
};

static int observe(void *context, struct rip_session *session, const struct rip_event *event)
{
    struct observed *observed = context;
    const struct rip_event_snap *snap = &event->as.snap;

    (void)session;
    switch (event->kind) {
    case RIP_EVENT_REGISTER:
        observed->register_count++;
        break;
    case RIP_EVENT_EXIT:
        observed->exit_count++;
        break;
    case RIP_EVENT_SNAP:
        observed->entry_count += snap->entry_count;
        observed->overwritten_count += snap->overwritten_count;
        observed->unequal_count += snap->made_count != snap->entry_count + snap->overwritten_count;
        for (uint32_t i = 0; i < snap->entry_count; i++)
            observed->wrong_count += snap->entries[i].address != (uintptr_t)address_of(snap->entries[i].snap);
        break;
    case RIP_EVENT_TOTALS:
        observed->totals = event->as.totals;
        break;
    case RIP_EVENT_DEATH:
        observed->is_over = true;
        observed->in_order = event->as.death.in_order;
        break;
    case RIP_EVENT_DRAIN:
        return observed->is_over;
    default:
        break;
    }
    return 0;
}

TEST(all_snaps_are_correct_and_counted)
{
    const struct rip_session_options options = {.size_bytes = sizeof(options), .interval_ns = 3000000};
    struct observed observed = {0};
    const struct rip_observer observer = {.size_bytes = sizeof(observer), .context = &observed, .event = observe};
    struct ring_stage stage;
    struct rip_session *session;
    uint64_t count = 0;
    int pipes[2], status;
    pid_t pid;

    ring_stage_open(&stage);
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(rip_session_open(&session, ring_stage_path(&stage, "."), &options, NULL), 0);
    fflush(stdout);
    pid = fork();
    if (pid == 0)
        run_program(ring_stage_path(&stage, "program"), pipes[1]);
    assert_true(pid > 0);
    assert_int_equal(rip_session_observe(session, &observer), 0);
    assert_int_equal(rip_session_run(session, NULL), 1);
    assert_int_equal(read(pipes[0], &count, sizeof(count)), sizeof(count));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(observed.in_order);
    assert_int_equal(observed.wrong_count, 0);
    assert_int_equal(observed.unequal_count, 0);
    assert_true(observed.entry_count > 0);
    assert_true(observed.totals.exact);
    assert_int_equal(observed.totals.made_count, count);
    assert_int_equal(observed.totals.made_count,
                     observed.totals.recorded_count + observed.totals.overwritten_count + observed.totals.unseen_count);
    assert_int_equal(observed.totals.recorded_count, observed.entry_count);
    assert_int_equal(observed.totals.overwritten_count, observed.overwritten_count);
    assert_int_equal(observed.totals.registered_count, BUSY_THREADS + SHORT_THREADS);
    assert_int_equal(observed.register_count, observed.exit_count);
    rip_session_close(session);
    close(pipes[0]);
    close(pipes[1]);
    ring_stage_close(&stage);
}

/* Requests a drain 50 ms after each byte of input. */
static void run_flusher(const char *ring, int input)
{
    char byte;

    if (!rip_create_ring(ring, 1))
        _exit(1);
    rip_init(1, "flusher", 7, 0, 0);
    while (read(input, &byte, 1) == 1) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        rip_snap();
        rip_flush();
    }
    _exit(0);
}

TEST(program_requests_a_drain)
{
    const struct rip_session_options options = {.size_bytes = sizeof(options), .interval_ns = 20 * PATIENCE_NS};
    const struct rip_session_limit one = {.size_bytes = sizeof(one), .drain_count = 1};
    static const char *const sources[] = {".", "program"};
    struct ring_stage stage;
    int pipes[2];
    pid_t pid;

    ring_stage_open(&stage);
    assert_int_equal(pipe(pipes), 0);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        close(pipes[1]);
        run_flusher(ring_stage_path(&stage, "program"), pipes[0]);
    }
    assert_true(pid > 0);
    while (access(ring_stage_path(&stage, "program"), F_OK) != 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (size_t i = 0; i < 2; i++) {
        const struct rip_event *event = NULL;
        struct rip_session *session;

        assert_int_equal(rip_session_open(&session, ring_stage_path(&stage, sources[i]), &options, NULL), 0);
        assert_int_equal(rip_session_run(session, &one), 1);
        assert_int_equal(write(pipes[1], "", 1), 1);
        assert_int_equal(rip_session_wait(session, PATIENCE_NS), 0);
        while (rip_session_next(session, &event) == 1 && event->kind != RIP_EVENT_FLUSH)
            continue;
        assert_int_equal(event->kind, RIP_EVENT_FLUSH);
        assert_int_equal(event->as.flush_count, 1);
        rip_session_close(session);
    }
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    ring_stage_close(&stage);
}
