/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_worker.c - questions to the worker of ripd-probe about a process that holds the lock of its record, and what
 * comes back when that changes while it is being read: ripd/probe/child/worker.c. All of it is real but the moment: the
 * linker puts a function of ours around kernel_read().
 */
#include "unit/locker.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "cases/kernel.h"
#include "os/clock.h"
#include "os/packet.h"
#include "os/sigbus.h"
#include "probe/child/worker.h"

#define SECOND_NS UINT64_C(1000000000)

static struct scene {
    struct ring_stage stage;
    struct ring_builder ring; /* "ring" */
    pid_t pid;
    pid_t other; /* another of the same ring, in record 1; 0 = none */
    struct worker_sources sources;
    struct probe_answer answer;
} scene;

static void begin(uid_t user, void (*then)(void *context))
{
    scene = (struct scene){.pid = 0};
    memset(&scene.answer, 0xee, sizeof(scene.answer)); /* all of it is to be filled in */
    assert_int_equal(sigbus_install(), 0);
    scene.sources = (struct worker_sources){open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), -1};
    ring_stage_open(&scene.stage);
    assert_int_equal(chmod(scene.stage.directory, 0777), 0);
    locker_ring(&scene.stage, "ring", user, &scene.ring);
    scene.pid = locker_start(&scene.stage, "ring", &scene.ring, 0, user, then);
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
    int descriptor = open(ring_stage_path(&scene.stage, "ring"), O_RDONLY | O_CLOEXEC);

    assert_true(descriptor >= 0);
    return descriptor;
}

static struct probe_query ask_of(uint32_t tid)
{
    return (struct probe_query){.kind = PROBE_QUERY, .count = 1, .number = 77, .tids = {tid}};
}

static void answer(const struct probe_query *ask)
{
    size_t descriptors = count_descriptors();

    worker_answer(&scene.sources, ask, open_ring(), &scene.answer);
    assert_int_equal(count_descriptors(), descriptors);
    assert_int_equal(scene.answer.kind, PROBE_ANSWER);
    assert_int_equal(scene.answer.number, ask->number);
    assert_true(probe_answer_is_sound(&scene.answer, probe_answer_bytes(scene.answer.count), ask));
}

/* Not a byte about any thread. */
static void assert_nothing_answered(int status)
{
    static const struct probe_thread nothing[PROBE_BATCH_MAX];

    assert_int_equal(scene.answer.status, status);
    assert_int_equal(scene.answer.count, 0);
    assert_int_equal(scene.answer.pid, 0);
    assert_memory_equal(scene.answer.threads, nothing, sizeof(nothing));
}

/* Answers ---------------------------------------------------------------------------------------------------------- */

TEST(threads_of_that_process_alone)
{
    struct probe_query ask;

    begin(0, NULL);
    scene.other = locker_start(&scene.stage, "ring", &scene.ring, 1, 0, NULL);
    ask = ask_of((uint32_t)scene.pid);
    ask.tids[ask.count++] = (uint32_t)getpid(); /* there, but of other processes */
    ask.tids[ask.count++] = (uint32_t)scene.other;
    ask.tids[ask.count++] = 1u << 22; /* no process's */
    ask.tids[ask.count++] = (uint32_t)scene.pid;
    answer(&ask);
    assert_int_equal(scene.answer.status, 0);
    assert_int_equal(scene.answer.pid, scene.pid);
    assert_int_equal(scene.answer.count, 5);
    for (uint32_t i = 0; i < ask.count; i++) {
        const struct probe_thread *thread = &scene.answer.threads[i];

        assert_int_equal(thread->tid, ask.tids[i]);
        assert_int_equal(thread->status, i == 0 || i == 4 ? 0 : -ESRCH);
        assert_int_equal(thread->reading.pid, thread->status == 0 ? scene.pid : 0);
        assert_int_equal(thread->reading.times.start_time_ticks,
                         thread->status == 0 ? ring_stage_start_time(scene.pid) : 0);
    }
    ask = ask_of((uint32_t)scene.other);
    answer(&ask); /* of record 0 */
    assert_int_equal(scene.answer.threads[0].status, -ESRCH);
    ask.process = 1;
    answer(&ask);
    assert_int_equal(scene.answer.pid, scene.other);
    assert_int_equal(scene.answer.threads[0].status, 0);
    end();
}

TEST(refusals)
{
    struct probe_query ask;

    begin(0, NULL);
    ask = ask_of((uint32_t)scene.pid);
    memset(&scene.answer, 0xee, sizeof(scene.answer));
    worker_answer(&scene.sources, &ask, -1, &scene.answer); /* it brought no ring */
    assert_int_equal(scene.answer.number, 77);
    assert_nothing_answered(-EINVAL);
    memset(&scene.answer, 0xee, sizeof(scene.answer));
    ask.process = 3; /* no process's */
    answer(&ask);
    assert_nothing_answered(-ESRCH);
    ask.process = 0;
    ring_builder_process(&scene.ring, 0)->start_time_ticks++;
    memset(&scene.answer, 0xee, sizeof(scene.answer));
    answer(&ask);
    assert_nothing_answered(-ESRCH);
    end();
}

/* What it waits for ------------------------------------------------------------------------------------------------ */

static void sleep_an_hour(void *context)
{
    const struct timespec hour = {.tv_sec = 3600, .tv_nsec = 5};

    (void)context;
    syscall(SYS_nanosleep, &hour, NULL);
}

/* False: the kernel does not say. */
static bool answer_in_call(long number)
{
    const struct kernel_reading *reading = &scene.answer.threads[0].reading;
    struct probe_query ask = ask_of((uint32_t)scene.pid);

    for (int i = 0; i < LOCKER_PATIENCE_MS; i++) {
        answer(&ask);
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
        assert_string_equal(scene.answer.threads[0].reading.wchan, "hrtimer_nanosleep");
        assert_int_equal(scene.answer.threads[0].reading.has & KERNEL_HAS_TIMEOUT, KERNEL_HAS_TIMEOUT);
        assert_int_equal(scene.answer.threads[0].reading.timeout_ns, 3600 * SECOND_NS + 5);
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

/* We have the other end: of the ring owner's processes one is named, of another user's none. */
TEST(who_has_the_other_end)
{
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    begin(0, read_the_pipe);
    ring_stage_go(scene.pid);
    if (answer_in_call(SYS_read)) {
        const struct kernel_holder *holder = &scene.answer.threads[0].reading.holder;
        struct probe_query ask = ask_of((uint32_t)scene.pid);

        for (int i = 0; i < 1000 && holder->pid == 0; i++) /* it is not searched for long */
            answer(&ask);
        assert_int_equal(holder->pid, getpid());
    }
    end();
    if (geteuid() == 0) {
        begin(LOCKER_USER, read_the_pipe);
        ring_stage_go(scene.pid);
        if (answer_in_call(SYS_read))
            assert_int_equal(scene.answer.threads[0].reading.holder.pid, 0);
        end();
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* While it reads --------------------------------------------------------------------------------------------------- */

static void (*before)(void);    /* happens once, before the first thread is read */
static void (*meanwhile)(void); /* when it has been read */
static void (*later)(void);     /* when all have been */

int __real_kernel_read(int proc, uint32_t pid, uint32_t tid, enum kernel_depth depth,
                       struct kernel_reading *ret_reading);
int __wrap_kernel_read(int proc, uint32_t pid, uint32_t tid, enum kernel_depth depth,
                       struct kernel_reading *ret_reading);

static void happen(void (**what)(void))
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

    happen(&before);
    result = __real_kernel_read(proc, pid, tid, depth, ret_reading);
    happen(&meanwhile);
    return result;
}

void __real_kernel_read_holders(int proc, uint32_t uid, uint64_t deadline_mono_ns,
                                struct kernel_reading *const *readings, size_t count);
void __wrap_kernel_read_holders(int proc, uint32_t uid, uint64_t deadline_mono_ns,
                                struct kernel_reading *const *readings, size_t count);

void __wrap_kernel_read_holders(int proc, uint32_t uid, uint64_t deadline_mono_ns,
                                struct kernel_reading *const *readings, size_t count)
{
    happen(&later);
    __real_kernel_read_holders(proc, uid, deadline_mono_ns, readings, count);
}

static void it_is_killed(void)
{
    siginfo_t info;

    assert_int_equal(kill(scene.pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)scene.pid, &info, WEXITED | WNOWAIT), 0);
}

static void it_loses_its_lock(void)
{
    ring_stage_go(scene.pid);
    WAIT_UNTIL(!locker_is_locked(ring_stage_path(&scene.stage, "ring"), RIP_LOCK_HOLDER_OFFSET));
}

static void another_takes_the_lock(void)
{
    char path[128];
    struct locker locker = {path, RIP_LOCK_HOLDER_OFFSET, F_SETLK, 0};

    it_loses_its_lock();
    snprintf(path, sizeof(path), "%s", ring_stage_path(&scene.stage, "ring"));
    scene.other = ring_stage_start(locker_lock, NULL, &locker);
}

static void its_record_is_written_anew(void)
{
    ring_builder_process(&scene.ring, 0)->start_time_ticks++;
}

static void its_ring_is_cut(void)
{
    assert_int_equal(truncate(ring_stage_path(&scene.stage, "ring"), 0), 0);
}

static void it_keeps_its_secrets(void)
{
    ring_stage_go(scene.pid);
    WAIT_UNTIL(locker_proc_owner(scene.pid) == 0);
}

/* Whatever was read before, or is still readable after: nothing of it is answered. */
TEST(what_happens_while_it_is_read)
{
    const uid_t user = geteuid() == 0 ? LOCKER_USER : 0;
    const struct {
        const char *what;
        uid_t user;
        void (*then)(void *context);
        void (*meanwhile)(void);
    } rows[] = {
        {"killed", 0, NULL, it_is_killed},
        {"lock lost", 0, locker_lose_lock, it_loses_its_lock},
        {"another program", 0, locker_execute, it_loses_its_lock}, /* its descriptor is close-on-exec */
        {"lock passed on", 0, locker_lose_lock, another_takes_the_lock},
        {"record written anew", 0, NULL, its_record_is_written_anew},
        {"ring cut", 0, NULL, its_ring_is_cut},
        {"secrets kept", user, locker_hide, it_keeps_its_secrets},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct probe_query ask;

        begin(rows[i].user, rows[i].then);
        ask = ask_of((uint32_t)scene.pid);
        meanwhile = rows[i].meanwhile;
        answer(&ask);
        assert_null(meanwhile);
        if (scene.answer.status == 0)
            print_message("answered all the same: %s\n", rows[i].what);
        assert_nothing_answered(-ESRCH);
        end();
    }
}

static void it_is_another_user_now(void)
{
    const uid_t user = locker_proc_owner(scene.pid);

    ring_stage_go(scene.pid);
    WAIT_UNTIL(locker_proc_owner(scene.pid) == (user ^ LOCKER_STRANGER ^ LOCKER_USER));
    usleep(20000); /* until it waits again */
}

/* Its runtime does not come back in a child that has changed its user: such a child stays on the processor for good. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define USERS_STAY 1
#endif
#endif
#ifndef USERS_STAY
#define USERS_STAY 0
#endif

/* It is the owner's when it is asked for, and again when that is asked about again, but not while it is read. */
TEST(another_user_in_between)
{
    if (!is_root_of_all() || USERS_STAY) {
        print_message("skipped: takes root with CAP_SYS_PTRACE, and not under ThreadSanitizer\n");
        skip();
    }
    for (int when = 0; when < 3; when++) {
        char path[128];
        struct locker locker = {path, RIP_LOCK_HOLDER_OFFSET, F_SETLK, 0};
        const struct kernel_reading *reading;
        struct probe_query ask;

        begin(LOCKER_USER, NULL);
        ring_stage_end(scene.pid);
        snprintf(path, sizeof(path), "%s", ring_stage_path(&scene.stage, "ring"));
        scene.pid = ring_stage_start(locker_lock_and_change_user, locker_change_user_by_turns, &locker);
        locker_claim(&scene.ring, 0, scene.pid);
        before = when != 0 ? it_is_another_user_now : NULL;
        meanwhile = when == 1 ? it_is_another_user_now : NULL;
        later = when == 2 ? it_is_another_user_now : NULL;
        ask = ask_of((uint32_t)scene.pid);
        answer(&ask);
        reading = &scene.answer.threads[0].reading;
        for (int i = 0; i < 1000 && when == 0 && reading->has == 0; i++)
            answer(&ask); /* it may still have been on its way into its wait */
        assert_int_equal(scene.answer.status, 0);
        assert_int_equal(scene.answer.threads[0].status, 0);
        assert_int_equal(reading->has != 0 || reading->wchan[0] != '\0' || reading->call.number != 0, when == 0);
        end();
    }
}

static void the_time_passes(void)
{
    const struct timespec long_enough = {.tv_nsec = (long)(PROBE_READING_NS + PROBE_READING_NS / 10)};

    nanosleep(&long_enough, NULL);
}

/* One thread that takes all the time leaves none for the next, which the answer says. */
TEST(no_time_for_the_next)
{
    struct probe_query ask;

    begin(0, NULL);
    ask = ask_of((uint32_t)scene.pid);
    ask.tids[ask.count++] = (uint32_t)scene.pid;
    meanwhile = the_time_passes;
    answer(&ask);
    assert_int_equal(scene.answer.status, 0);
    assert_int_equal(scene.answer.threads[0].status, 0);
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

/* Returns its wait status. */
static int wait_for_worker(struct worker *worker)
{
    int status = 0;

    assert_int_equal(waitpid(worker->pid, &status, 0), worker->pid);
    close(worker->socket);
    return status;
}

static void send_ask(struct worker *worker, const struct probe_query *ask, size_t bytes, int descriptor)
{
    assert_int_equal(packet_send(worker->socket, ask, bytes, descriptor, true), 0);
    if (descriptor >= 0)
        close(descriptor);
}

static void receive_answer(struct worker *worker, const struct probe_query *ask)
{
    ssize_t bytes = packet_receive(worker->socket, &scene.answer, sizeof(scene.answer), true, NULL);

    assert_true(bytes > 0);
    assert_true(probe_answer_is_sound(&scene.answer, (size_t)bytes, ask));
}

TEST(one_question_after_another)
{
    struct worker worker;
    struct probe_query ask;

    begin(0, NULL);
    worker = start_worker();
    ask = ask_of((uint32_t)scene.pid);
    for (uint64_t i = 0; i < 5; i++) {
        ask.number = i;
        ask.process = i == 2 ? 9 : 0;
        send_ask(&worker, &ask, sizeof(ask), i == 3 ? -1 : open_ring());
    }
    for (uint64_t i = 0; i < 5; i++) {
        ask.number = i;
        receive_answer(&worker, &ask);
        assert_int_equal(scene.answer.status, i == 2 ? -ESRCH : i == 3 ? -EINVAL : 0);
    }
    shutdown(worker.socket, SHUT_WR); /* nothing more comes */
    assert_int_equal(wait_for_worker(&worker), 7 << 8);
    end();
}

TEST(a_question_that_is_none)
{
    struct probe_query asks[4];

    begin(0, NULL);
    for (size_t i = 0; i < COUNT_OF(asks); i++)
        asks[i] = ask_of((uint32_t)scene.pid);
    asks[0].kind = PROBE_ANSWER;
    asks[1].count = PROBE_BATCH_MAX + 1;
    asks[2].count = 0;
    for (size_t i = 0; i < COUNT_OF(asks); i++) {
        struct worker worker = start_worker();
        char byte;

        send_ask(&worker, &asks[i], sizeof(asks[i]) - (i == 3), open_ring());
        assert_int_equal(packet_receive(worker.socket, &byte, 1, true, NULL), -EPIPE); /* no answer */
        assert_int_equal(wait_for_worker(&worker), 7 << 8);
    }
    end();
}

static void it_takes_for_ever(void)
{
    for (;;)
        pause();
}

/* Its own alarm ends a worker that does not get on, and one that waits for questions lives on. */
TEST(a_question_without_end)
{
    const struct timespec longer_than_one = {.tv_sec = PROBE_QUERY_NS / SECOND_NS, .tv_nsec = 500000000};
    struct worker patient, stuck;
    struct probe_query ask;
    char byte;

    begin(0, NULL);
    ask = ask_of((uint32_t)scene.pid);
    patient = start_worker();
    send_ask(&patient, &ask, sizeof(ask), open_ring());
    receive_answer(&patient, &ask);
    meanwhile = it_takes_for_ever;
    stuck = start_worker();
    meanwhile = NULL;
    send_ask(&stuck, &ask, sizeof(ask), open_ring());
    nanosleep(&longer_than_one, NULL);
    assert_true(packet_await(stuck.socket, clock_mono_ns() + 20 * SECOND_NS));
    assert_int_equal(packet_receive(stuck.socket, &byte, 1, true, NULL), -EPIPE);
    assert_int_equal(wait_for_worker(&stuck), SIGALRM);
    send_ask(&patient, &ask, sizeof(ask), open_ring());
    receive_answer(&patient, &ask);
    assert_int_equal(scene.answer.status, 0);
    shutdown(patient.socket, SHUT_WR);
    assert_int_equal(wait_for_worker(&patient), 7 << 8);
    end();
}
