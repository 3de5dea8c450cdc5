/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_worker.c - queries to the worker of ripd-probe about a process that holds the lock of its record, and what the
 * worker answers if that changes while it reads: ripd/probe/child/worker.c. The ring, the process and /proc are real.
 * The linker puts a function of this file around kernel_read(), so that a change happens at a known moment.
 */
#include "unit/locker.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "cases/kernel.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/packet.h"
#include "os/sigbus.h"
#include "probe/child/worker.h"

#define SECOND_NS UINT64_C(1000000000)

static struct scene {
    struct ring_stage stage;
    struct ring_builder ring; /* "ring" */
    pid_t pid;
    pid_t other; /* another process of the ring, in record 1; 0 = none */
    struct worker_sources sources;
    struct probe_query query; /* about the first thread of pid */
    struct probe_answer answer;
} scene;

static const struct probe_thread *first = &scene.answer.threads[0];

static const char *path_of(void)
{
    return ring_stage_path(&scene.stage, "ring");
}

static void spoil_answer(void)
{
    memset(&scene.answer, 0xee, sizeof(scene.answer)); /* the worker has to fill in all of it */
}

static void query_thread(pid_t tid)
{
    scene.query = (struct probe_query){.kind = PROBE_QUERY, .count = 1, .number = 77, .tids = {(uint32_t)tid}};
}

static void begin(uid_t user, void (*then)(void *context))
{
    scene = (struct scene){.pid = 0};
    spoil_answer();
    assert_int_equal(sigbus_install(), 0);
    scene.sources = (struct worker_sources){file_open_directory("/proc"), -1};
    ring_stage_open(&scene.stage);
    assert_int_equal(chmod(scene.stage.directory, 0777), 0);
    locker_ring(&scene.stage, "ring", user, &scene.ring);
    scene.pid = locker_start(&scene.stage, "ring", &scene.ring, 0, user, then);
    query_thread(scene.pid);
}

static void end(void)
{
    ring_stage_end(scene.pid);
    if (scene.other != 0)
        ring_stage_end(scene.other);
    ring_stage_release(&scene.ring);
    ring_stage_close(&scene.stage);
    close(scene.sources.proc);
}

static int open_ring(void)
{
    int descriptor = open(path_of(), O_RDONLY | O_CLOEXEC);

    assert_true(descriptor >= 0);
    return descriptor;
}

static void answer(void)
{
    size_t descriptors = count_descriptors();

    worker_answer(&scene.sources, &scene.query, open_ring(), &scene.answer);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(scene.answer.kind, PROBE_ANSWER);
    assert_int_equal(scene.answer.number, scene.query.number);
    assert_true(probe_answer_is_sound(&scene.answer, probe_answer_bytes(scene.answer.count), &scene.query));
}

/* The answer has no byte about any thread. */
static void assert_nothing_answered(int status)
{
    static const struct probe_thread nothing[PROBE_BATCH_MAX];

    assert_int_equal(scene.answer.status, status);
    assert_int_equal(scene.answer.count, 0);
    assert_int_equal(scene.answer.pid, 0);
    assert_memory_equal(scene.answer.threads, nothing, sizeof(nothing));
}

/* Answers ---------------------------------------------------------------------------------------------------------- */

TEST(only_threads_of_the_process)
{
    begin(0, NULL);
    scene.other = locker_start(&scene.stage, "ring", &scene.ring, 1, 0, NULL);
    const pid_t tids[] = {scene.pid, getpid(), scene.other, 1 << 22 /* does not exist */, scene.pid};

    for (scene.query.count = 0; scene.query.count < COUNT_OF(tids); scene.query.count++)
        scene.query.tids[scene.query.count] = (uint32_t)tids[scene.query.count];
    answer();
    assert_int_equal(scene.answer.status, 0);
    assert_int_equal(scene.answer.pid, scene.pid);
    assert_int_equal(scene.answer.count, COUNT_OF(tids));
    for (uint32_t i = 0; i < COUNT_OF(tids); i++) {
        const struct probe_thread *thread = &scene.answer.threads[i];
        const bool known = tids[i] == scene.pid;

        assert_int_equal(thread->tid, tids[i]);
        assert_int_equal(thread->status, known ? 0 : -ESRCH);
        assert_int_equal(thread->reading.pid, known ? scene.pid : 0);
        assert_int_equal(thread->reading.times.start_time_ticks, known ? ring_stage_start_time(scene.pid) : 0);
    }
    query_thread(scene.other); /* which is in record 1 */
    answer();
    assert_int_equal(first->status, -ESRCH);
    scene.query.process = 1;
    answer();
    assert_int_equal(scene.answer.pid, scene.other);
    assert_int_equal(first->status, 0);
    end();
}

TEST(refusals)
{
    begin(0, NULL);
    worker_answer(&scene.sources, &scene.query, -1, &scene.answer); /* without a ring */
    assert_int_equal(scene.answer.number, 77);
    assert_nothing_answered(-EINVAL);
    spoil_answer();
    scene.query.process = 3; /* a free record */
    answer();
    assert_nothing_answered(-ESRCH);
    spoil_answer();
    scene.query.process = 0;
    ring_builder_process(&scene.ring, 0)->start_time_ticks++;
    answer();
    assert_nothing_answered(-ESRCH);
    end();
}

/* What the thread waits for ---------------------------------------------------------------------------------------- */

static void sleep_an_hour(void *context)
{
    const struct timespec hour = {.tv_sec = 3600, .tv_nsec = 5};

    (void)context;
    syscall(SYS_nanosleep, &hour, NULL);
}

/* Returns false if the kernel denies it. */
static bool answer_in_call(long number)
{
    const struct kernel_reading *reading = &first->reading;

    for (int i = 0; i < LOCKER_PATIENCE_MS; i++) {
        answer();
        assert_int_equal(scene.answer.status, 0);
        if ((reading->denied & KERNEL_DENIED(SYSCALL)) != 0)
            return false;
        if ((reading->has & KERNEL_HAS_SYSCALL) != 0 && (reading->has & KERNEL_HAS_WCHAN) != 0 &&
            reading->call.kind == PROC_SYSCALL_INSIDE && reading->call.number == (uint64_t)number)
            return true;
        usleep(1000);
    }
    fail();
    return false;
}

TEST(how_long_it_sleeps)
{
    begin(0, sleep_an_hour);
    ring_stage_go(scene.pid);
    if (answer_in_call(SYS_nanosleep)) {
        assert_string_equal(first->reading.wchan, "hrtimer_nanosleep");
        assert_int_equal(first->reading.has & KERNEL_HAS_TIMEOUT, KERNEL_HAS_TIMEOUT);
        assert_int_equal(first->reading.timeout_ns, 3600 * SECOND_NS + 5);
    }
    end();
}

static int pipe_ends[2];

static void read_the_pipe(void *context)
{
    char byte;

    (void)context;
    close(pipe_ends[1]);
    if (read(pipe_ends[0], &byte, 1) < 0)
        abort();
}

/* The test has the other end. It is named only if it has the same user as the ring. */
TEST(the_holder_of_the_other_end)
{
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    begin(0, read_the_pipe);
    ring_stage_go(scene.pid);
    if (answer_in_call(SYS_read)) {
        for (int i = 0; i < 1000 && first->reading.holder.pid == 0; i++) /* each search is short */
            answer();
        assert_int_equal(first->reading.holder.pid, getpid());
    }
    end();
    if (geteuid() == 0) {
        begin(LOCKER_USER, read_the_pipe);
        ring_stage_go(scene.pid);
        if (answer_in_call(SYS_read))
            assert_int_equal(first->reading.holder.pid, 0);
        end();
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* Changes while the worker reads ----------------------------------------------------------------------------------- */

/* Each is called once. */
static void (*before)(void);    /* before the first thread is read */
static void (*meanwhile)(void); /* after it is read */
static void (*later)(void);     /* after all threads are read */

int __real_kernel_read(int proc, uint32_t pid, uint32_t tid, enum kernel_depth depth,
                       struct kernel_reading *ret_reading);
int __wrap_kernel_read(int proc, uint32_t pid, uint32_t tid, enum kernel_depth depth,
                       struct kernel_reading *ret_reading);

static void call_once(void (**what)(void))
{
    void (*now)(void) = *what;

    *what = NULL;
    if (now != NULL)
        now();
}

int __wrap_kernel_read(int proc, uint32_t pid, uint32_t tid, enum kernel_depth depth,
                       struct kernel_reading *ret_reading)
{
    int result;

    call_once(&before);
    result = __real_kernel_read(proc, pid, tid, depth, ret_reading);
    call_once(&meanwhile);
    return result;
}

void __real_kernel_read_holders(int proc, uint32_t uid, uint64_t deadline_mono_ns,
                                struct kernel_reading *const *readings, size_t count);
void __wrap_kernel_read_holders(int proc, uint32_t uid, uint64_t deadline_mono_ns,
                                struct kernel_reading *const *readings, size_t count);

void __wrap_kernel_read_holders(int proc, uint32_t uid, uint64_t deadline_mono_ns,
                                struct kernel_reading *const *readings, size_t count)
{
    call_once(&later);
    __real_kernel_read_holders(proc, uid, deadline_mono_ns, readings, count);
}

static void kill_it(void)
{
    siginfo_t info;

    assert_int_equal(kill(scene.pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)scene.pid, &info, WEXITED | WNOWAIT), 0);
}

static void unlock(void)
{
    ring_stage_go(scene.pid);
    WAIT_UNTIL(!locker_is_locked(path_of(), RIP_LOCK_HOLDER_OFFSET));
}

static void cut_ring(void)
{
    assert_int_equal(truncate(path_of(), 0), 0);
}

/* If the process is not attested any more, nothing of what was read is answered. test_attest.c has all such changes. */
TEST(changes)
{
    static const struct {
        const char *name;
        void (*then)(void *context);
        void (*change)(void);
    } rows[] = {
        {"killed", NULL, kill_it},
        {"lock lost", locker_lose_lock, unlock},
        {"ring cut", NULL, cut_ring},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        begin(0, rows[i].then);
        meanwhile = rows[i].change;
        answer();
        assert_null(meanwhile);
        if (scene.answer.status == 0)
            fail_msg("answered: %s", rows[i].name);
        assert_nothing_answered(-ESRCH);
        end();
    }
}

static void change_user(void)
{
    const uid_t user = locker_proc_owner(scene.pid);

    ring_stage_go(scene.pid);
    WAIT_UNTIL(locker_proc_owner(scene.pid) == (user ^ LOCKER_STRANGER ^ LOCKER_USER));
    usleep(20000); /* the process waits again */
}

/* ThreadSanitizer: a child that has changed its user never returns from the runtime, and spins. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define USERS_STAY 1
#endif
#endif
#ifndef USERS_STAY
#define USERS_STAY 0
#endif

/* Guarantee E of attest.h: the process belongs to the owner before and after, but not while it is read. */
TEST(another_user_in_between)
{
    if (!is_root_of_all() || USERS_STAY) {
        print_message("skipped: needs root with CAP_SYS_PTRACE, and no ThreadSanitizer\n");
        skip();
    }
    for (int when = 0; when < 3; when++) {
        const struct kernel_reading *reading = &first->reading;
        struct locker locker = {.offset = RIP_LOCK_HOLDER_OFFSET, .command = F_SETLK};

        begin(LOCKER_USER, NULL);
        ring_stage_end(scene.pid);
        locker.path = path_of();
        scene.pid = ring_stage_start(locker_lock_and_change_user, locker_change_user_by_turns, &locker);
        locker_claim(&scene.ring, 0, scene.pid);
        query_thread(scene.pid);
        before = when != 0 ? change_user : NULL;
        meanwhile = when == 1 ? change_user : NULL;
        later = when == 2 ? change_user : NULL;
        answer();
        for (int i = 0; i < 1000 && when == 0 && reading->has == 0; i++)
            answer(); /* the process may not wait yet */
        assert_int_equal(scene.answer.status, 0);
        assert_int_equal(first->status, 0);
        assert_int_equal(reading->has != 0 || reading->wchan[0] != '\0' || reading->call.number != 0, when == 0);
        end();
    }
}

static void use_up_time(void)
{
    const struct timespec long_enough = {.tv_nsec = (long)(PROBE_READING_NS + PROBE_READING_NS / 10)};

    nanosleep(&long_enough, NULL);
}

/* A thread that takes all the time leaves none for the next one. The answer says so. */
TEST(no_time_for_the_next_thread)
{
    begin(0, NULL);
    scene.query.tids[scene.query.count++] = (uint32_t)scene.pid;
    meanwhile = use_up_time;
    answer();
    assert_int_equal(scene.answer.status, 0);
    assert_int_equal(first->status, 0);
    assert_int_equal(scene.answer.threads[1].status, -EAGAIN);
    assert_int_equal(scene.answer.threads[1].tid, scene.pid);
    end();
}

/* The worker as a process ------------------------------------------------------------------------------------------ */

struct worker {
    pid_t pid;
    int socket;
};

static struct worker start_worker(void)
{
    struct worker worker;
    int ends[2];

    assert_int_equal(packet_pair(ends), 0);
    fflush(NULL);
    worker = (struct worker){fork(), ends[0]};
    assert_true(worker.pid >= 0);
    if (worker.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[0]);
        worker_run(&scene.sources, PROBE_WORKER, ends[1]);
        _exit(7);
    }
    close(ends[1]);
    return worker;
}

/* Asserts the wait status. */
static void assert_ended(const struct worker *worker, int expected)
{
    int status = 0;

    assert_int_equal(waitpid(worker->pid, &status, 0), worker->pid);
    assert_int_equal(status, expected);
    close(worker->socket);
}

static void send_query(const struct worker *worker, size_t bytes, bool with_ring)
{
    int ring = with_ring ? open_ring() : -1;

    assert_int_equal(packet_send(worker->socket, &scene.query, bytes, ring, true), 0);
    if (with_ring)
        close(ring);
}

static void receive_answer(const struct worker *worker)
{
    ssize_t bytes = packet_receive(worker->socket, &scene.answer, sizeof(scene.answer), true, NULL);

    assert_true(bytes > 0);
    assert_true(probe_answer_is_sound(&scene.answer, (size_t)bytes, &scene.query));
}

static void assert_no_answer(const struct worker *worker)
{
    char byte;

    assert_int_equal(packet_receive(worker->socket, &byte, 1, true, NULL), -EPIPE);
}

TEST(several_queries)
{
    static const int statuses[] = {0, 0, -ESRCH, -EINVAL, 0};
    struct worker worker;

    begin(0, NULL);
    worker = start_worker();
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        scene.query.number = i;
        scene.query.process = statuses[i] == -ESRCH ? 9 : 0;
        send_query(&worker, sizeof(scene.query), statuses[i] != -EINVAL);
    }
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        scene.query.number = i;
        receive_answer(&worker);
        assert_int_equal(scene.answer.status, statuses[i]);
    }
    shutdown(worker.socket, SHUT_WR); /* the worker returns at the end of its queries */
    assert_ended(&worker, 7 << 8);
    end();
}

/* An invalid query ends the worker. */
TEST(invalid_queries)
{
    static const struct {
        uint32_t kind, count;
        size_t missing_bytes;
    } rows[] = {{PROBE_ANSWER, 1, 0}, {PROBE_QUERY, PROBE_BATCH_MAX + 1, 0}, {PROBE_QUERY, 0, 0}, {PROBE_QUERY, 1, 1}};

    begin(0, NULL);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct worker worker = start_worker();

        scene.query.kind = rows[i].kind;
        scene.query.count = rows[i].count;
        send_query(&worker, sizeof(scene.query) - rows[i].missing_bytes, true);
        assert_no_answer(&worker);
        assert_ended(&worker, 7 << 8);
    }
    end();
}

static void block_for_ever(void)
{
    for (;;)
        pause();
}

/* An alarm ends a worker that blocks in a query. A worker that waits for queries is not ended. */
TEST(a_query_that_blocks)
{
    const struct timespec longer_than_one = {.tv_sec = PROBE_QUERY_NS / SECOND_NS, .tv_nsec = 500000000};
    struct worker patient, stuck;

    begin(0, NULL);
    patient = start_worker();
    send_query(&patient, sizeof(scene.query), true);
    receive_answer(&patient);
    meanwhile = block_for_ever;
    stuck = start_worker();
    meanwhile = NULL;
    send_query(&stuck, sizeof(scene.query), true);
    nanosleep(&longer_than_one, NULL);
    assert_true(packet_await(stuck.socket, clock_mono_ns() + 20 * SECOND_NS));
    assert_no_answer(&stuck);
    assert_ended(&stuck, SIGALRM);
    send_query(&patient, sizeof(scene.query), true);
    receive_answer(&patient);
    assert_int_equal(scene.answer.status, 0);
    shutdown(patient.socket, SHUT_WR);
    assert_ended(&patient, 7 << 8);
    end();
}
