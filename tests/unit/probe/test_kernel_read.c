/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel_read.c - looks at real threads of a child: ripd/probe/kernel.c, kernel_holder.c, kernel_memory.c (but for
 * paths and addresses, which are in test_kernel_memory.c). What the kernel denies here, because tests may not
 * run as root and children may not be traced, is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cases/kernel.h"
#include "os/clock.h"
#include "os/file.h"
#include "probe/kernel.h"
#include "support/test.h"

#define SECOND_NS UINT64_C(1000000000)

static int proc = -1;
static int pipe_ends[2];

static void sleep_an_hour(void)
{
    const struct timespec hour = {.tv_sec = 3600, .tv_nsec = 5};

    syscall(SYS_nanosleep, &hour, NULL);
}

static void sleep_until_tomorrow(void)
{
    struct timespec when;

    clock_gettime(CLOCK_MONOTONIC, &when);
    when.tv_sec += 86400;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

static void select_for_seven_seconds(void)
{
    struct timespec seven = {.tv_sec = 7};

    pselect(0, NULL, NULL, NULL, &seven, NULL);
}

static int semaphores;

static void wait_for_a_semaphore(void)
{
    struct sembuf down = {.sem_op = -1};
    struct timespec seven = {.tv_sec = 7};

    semtimedop(semaphores, &down, 1, &seven);
}

static void sleep_where_there_is_nothing(void)
{
    for (;;) /* returns at once, with EFAULT */
        syscall(SYS_nanosleep, (void *)16, NULL);
}

static void read_the_pipe(void)
{
    char byte;

    close(pipe_ends[1]);
    if (read(pipe_ends[0], &byte, 1) < 0)
        _exit(1);
}

/* The child of a test, and the last reading of it. */
static uint32_t child;
static struct kernel_reading reading;

static void start(void (*what)(void))
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        what();
        _exit(0);
    }
    child = (uint32_t)pid;
}

static int end(void **state)
{
    (void)state;
    if (child != 0) {
        kill((pid_t)child, SIGKILL);
        waitpid((pid_t)child, NULL, 0);
    }
    child = 0;
    return 0;
}

static void read_child(enum kernel_depth depth)
{
    int result;

    do
        result = kernel_read(proc, child, child, depth, &reading);
    while (result == -EAGAIN); /* it has not run yet */
    assert_int_equal(result, 0);
}

/* Starts the child, and waits until it is in that system call. False: the kernel denies reading it. */
static bool start_in_call(void (*what)(void), long number)
{
    start(what);
    for (int i = 0; i < 10000; i++) {
        read_child(KERNEL_WHOLE);
        if ((reading.denied & KERNEL_DENIED(SYSCALL)) != 0)
            return false;
        if ((reading.has & KERNEL_HAS_SYSCALL) != 0 && (reading.has & KERNEL_HAS_WCHAN) != 0 &&
            reading.call.kind == PROC_SYSCALL_INSIDE && reading.call.number == (uint64_t)number)
            return true;
        usleep(1000);
    }
    fail();
    return false;
}

/* What is read of its memory, but not if it has run since its reading: then the call is another one. */
static void assert_not_read_later(uint32_t has)
{
    reading.has &= ~has;
    reading.times.voluntary_count--;
    reading.times.slice_count--;
    kernel_read_memory(proc, &reading);
    assert_int_equal(reading.has & has, 0);
}

TEST(how_long_it_sleeps, NULL, end)
{
    if (start_in_call(sleep_an_hour, SYS_nanosleep)) {
        assert_int_equal(reading.times.state, 'S');
        assert_int_equal(reading.has & KERNEL_HAS_TIMEOUT, 0);
        kernel_read_memory(proc, &reading);
        assert_true((reading.has & KERNEL_HAS_TIMEOUT) != 0);
        assert_int_equal(reading.timeout_ns, 3600 * SECOND_NS + 5);
        assert_string_equal(reading.wchan, "hrtimer_nanosleep");
    }
}

TEST(an_instant_is_no_duration, NULL, end)
{
    if (start_in_call(sleep_until_tomorrow, SYS_clock_nanosleep)) {
        kernel_read_memory(proc, &reading);
        assert_int_equal(reading.has & KERNEL_HAS_TIMEOUT, 0);
    }
}

TEST(other_timeouts, NULL, end)
{
    static const struct {
        long number;
        void (*what)(void);
    } rows[] = {{SYS_pselect6, select_for_seven_seconds}, {SYS_semtimedop, wait_for_a_semaphore}};

    semaphores = semget(IPC_PRIVATE, 1, 0600);
    assert_true(semaphores >= 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (start_in_call(rows[i].what, rows[i].number)) {
            kernel_read_memory(proc, &reading);
            assert_int_equal(reading.timeout_ns, 7 * SECOND_NS);
        }
        end(NULL);
    }
    semctl(semaphores, 0, IPC_RMID);
}

/* Nothing there, or a thread that has moved on: not known. */
TEST(what_is_not_there, NULL, end)
{
    start(sleep_where_there_is_nothing);
    reading = (struct kernel_reading){
        .times = {.state = 'S'},
        .pid = child,
        .tid = child,
        .has = KERNEL_HAS_SYSCALL,
        .call = {.kind = PROC_SYSCALL_INSIDE,
                 .number = SYS_nanosleep,
                 .arguments = {16},
                 .stack_pointer = UINT64_C(0x7fff00000000)},
    };
    kernel_read_memory(proc, &reading);
    assert_int_equal(reading.has & KERNEL_HAS_TIMEOUT, 0);
}

static void lock_what_it_holds(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
}

TEST(who_owns_the_lock, NULL, end)
{
    if (start_in_call(lock_what_it_holds, SYS_futex)) {
        const uint64_t before_mono_ns = clock_mono_ns();

        assert_int_equal(reading.has & KERNEL_HAS_LOCK, 0);
        kernel_read_memory(proc, &reading);
        assert_true((reading.has & KERNEL_HAS_LOCK) != 0);
        assert_int_equal(reading.lock_holder.tid, child);
        assert_int_equal(reading.lock_holder.address, reading.call.arguments[0]);
        assert_true(before_mono_ns <= reading.lock_look.begun_mono_ns &&
                    reading.lock_look.begun_mono_ns <= reading.lock_look.ended_mono_ns &&
                    reading.lock_look.ended_mono_ns <= clock_mono_ns());
        assert_not_read_later(KERNEL_HAS_LOCK);
    }
}

static void wait_for_a_word(void)
{
    static uint32_t words[14];

    syscall(SYS_futex, words, 0, 0, NULL, NULL, 0);
}

TEST(a_word_that_is_no_lock, NULL, end)
{
    if (start_in_call(wait_for_a_word, SYS_futex)) {
        kernel_read_memory(proc, &reading);
        assert_int_equal(reading.has & KERNEL_HAS_LOCK, 0);
    }
}

/* The same pipe twice, nothing, a pipe alone, or one before what wakes up an interpreter's threads. */
static void poll_twice(void)
{
    struct pollfd polled[2] = {{.fd = pipe_ends[0], .events = POLLIN}, {.fd = pipe_ends[0], .events = POLLIN}};

    syscall(SYS_ppoll, polled, 2, NULL, NULL, 0);
}

static void poll_once(void)
{
    struct pollfd polled = {.fd = pipe_ends[0], .events = POLLIN};

    syscall(SYS_ppoll, &polled, 1, NULL, NULL, 0);
}

static void poll_beside_own(void)
{
    struct pollfd polled[2] = {{.fd = pipe_ends[0], .events = POLLIN}, {.fd = eventfd(0, 0), .events = POLLIN}};

    syscall(SYS_ppoll, polled, 2, NULL, NULL, 0);
}

static void poll_nothing(void)
{
    struct pollfd polled = {.fd = -1};

    syscall(SYS_ppoll, &polled, 1, NULL, NULL, 0);
}

TEST(what_it_polls, NULL, end)
{
    static void (*const programs[])(void) = {poll_twice, poll_nothing, poll_once, poll_beside_own};

    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    for (size_t i = 0; i < COUNT_OF(programs); i++) {
        if (start_in_call(programs[i], SYS_ppoll)) {
            assert_int_equal(reading.has & KERNEL_HAS_DESCRIPTOR, 0);
            kernel_read_memory(proc, &reading);
            assert_int_equal((reading.has & KERNEL_HAS_DESCRIPTOR) != 0, i >= 2);
        }
        if ((reading.has & KERNEL_HAS_DESCRIPTOR) != 0) {
            assert_int_equal(reading.descriptor_number, pipe_ends[0]);
            assert_int_equal(strncmp(reading.descriptor.link, "pipe:[", 6), 0);
            assert_true(reading.descriptor.readable && !reading.descriptor.writable);
            assert_not_read_later(KERNEL_HAS_DESCRIPTOR);
        }
        end(NULL);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* One that runs while it is looked at, so many times: the kernel's counts are ours then. */
static struct {
    bool made_up;
    unsigned left;
    unsigned count;
    unsigned look_count;
} runs;

int __real_proc_thread_schedstat(int directory, uint32_t pid, uint32_t tid, struct proc_schedstat *ret_schedstat);
int __wrap_proc_thread_schedstat(int directory, uint32_t pid, uint32_t tid, struct proc_schedstat *ret_schedstat);
int __real_proc_thread_wchan(int directory, uint32_t pid, uint32_t tid, char ret_wchan[PROC_WCHAN_BYTES]);
int __wrap_proc_thread_wchan(int directory, uint32_t pid, uint32_t tid, char ret_wchan[PROC_WCHAN_BYTES]);

int __wrap_proc_thread_schedstat(int directory, uint32_t pid, uint32_t tid, struct proc_schedstat *ret_schedstat)
{
    if (!runs.made_up)
        return __real_proc_thread_schedstat(directory, pid, tid, ret_schedstat);
    *ret_schedstat = (struct proc_schedstat){.slice_count = 1 + runs.count};
    return 0;
}

int __wrap_proc_thread_wchan(int directory, uint32_t pid, uint32_t tid, char ret_wchan[PROC_WCHAN_BYTES])
{
    int result = __real_proc_thread_wchan(directory, pid, tid, ret_wchan);

    runs.look_count++;
    if (runs.left != 0) {
        runs.left--;
        runs.count++;
    }
    return result;
}

/* A reading is repeated until the thread has not run meanwhile; if it runs each time, its wait is left out. */
TEST(one_that_runs_meanwhile, NULL, end)
{
    enum { LOOKS = 4 };
    bool known = start_in_call(sleep_an_hour, SYS_nanosleep);

    for (unsigned count = 0; count <= LOOKS + 1; count++) {
        runs.made_up = true;
        runs.left = count;
        runs.look_count = 0;
        read_child(KERNEL_WHOLE);
        runs.made_up = false;
        assert_int_equal(runs.look_count, count < LOOKS ? count + 1 : LOOKS);
        assert_int_equal(reading.times.state, 'S');
        if (known)
            assert_int_equal((reading.has & KERNEL_HAS_SYSCALL) != 0, count < LOOKS);
        if (count >= LOOKS)
            assert_true(reading.has == 0 && reading.denied == 0 && reading.wchan[0] == '\0');
    }
    runs.left = 0;
}

/* As often as it takes to be read now and then while it is awake, but waits for the processor. */
static void nap_beside_a_spinner(void)
{
    pid_t parent = getpid();

    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            ;
        _exit(0);
    }
    for (;;)
        usleep(200);
}

static void nap_on_one_processor(void)
{
    cpu_set_t first;

    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof(first), &first); /* where that is not allowed the test proves less */
    nap_beside_a_spinner();
}

TEST(one_that_wakes_meanwhile, NULL, end)
{
    start(nap_on_one_processor);
    for (int i = 0; i < 20000; i++) {
        read_child(KERNEL_WHOLE);
        assert_true((reading.has & KERNEL_HAS_SYSCALL) == 0 || reading.call.kind != PROC_SYSCALL_RUNNING);
    }
}

TEST(who_has_the_other_end, NULL, end)
{
    struct kernel_reading *wanted = &reading;

    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    if (start_in_call(read_the_pipe, SYS_read)) {
        assert_int_equal(reading.descriptor_number, pipe_ends[0]);
        kernel_read_holders(proc, (uint32_t)geteuid(), clock_mono_ns() + 10 * SECOND_NS, &wanted, 1);
        assert_int_equal(reading.holder.pid, getpid());
        assert_int_equal(reading.has & KERNEL_HAS_NO_TIME, 0);
        reading.holder = (struct kernel_holder){0};
        kernel_read_holders(proc, (uint32_t)geteuid() + 1, clock_mono_ns() + 10 * SECOND_NS, &wanted, 1);
        assert_int_equal(reading.holder.pid, 0); /* nothing is reported of other users' processes */
        assert_int_equal(reading.has & KERNEL_HAS_NO_TIME, 0);
        kernel_read_holders(proc, (uint32_t)geteuid(), 0, &wanted, 1);
        assert_int_equal(reading.holder.pid, 0); /* no time */
        assert_int_not_equal(reading.has & KERNEL_HAS_NO_TIME, 0);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* As if the time of a search were over after so many processes. */
static unsigned processes_left = UINT_MAX;

int __real_file_identify_at(int directory, const char *name, struct file_identity *ret_identity);
int __wrap_file_identify_at(int directory, const char *name, struct file_identity *ret_identity);
uint64_t __real_clock_mono_ns(void);
uint64_t __wrap_clock_mono_ns(void);

int __wrap_file_identify_at(int directory, const char *name, struct file_identity *ret_identity)
{
    if (processes_left != UINT_MAX && processes_left != 0)
        processes_left--;
    return __real_file_identify_at(directory, name, ret_identity);
}

uint64_t __wrap_clock_mono_ns(void)
{
    return __real_clock_mono_ns() + (processes_left == 0 ? 100 * SECOND_NS : 0);
}

static void read_what_a_child_prints(void)
{
    char byte;

    if (pipe(pipe_ends) != 0)
        _exit(1);
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(pipe_ends[1], STDOUT_FILENO);
        close(pipe_ends[1]);
        if (write(STDOUT_FILENO, "", 1) == 1)
            pause();
    }
    close(pipe_ends[1]);
    poll(&(struct pollfd){.fd = pipe_ends[0], .events = POLLIN}, 1, -1);
    while (read(pipe_ends[0], &byte, 1) > 0)
        ;
}

/* Whose output a process waits for is known however many processes there are: those that it made come first. */
TEST(a_childs_output_among_many_processes, NULL, end)
{
    struct kernel_reading *wanted = &reading;

    if (!start_in_call(read_what_a_child_prints, SYS_read))
        return;
    processes_left = 3;
    kernel_read_holders(proc, (uint32_t)geteuid(), clock_mono_ns() + 10 * SECOND_NS, &wanted, 1);
    processes_left = UINT_MAX;
    assert_int_not_equal(reading.has & KERNEL_HAS_CHILD_OUTPUT, 0);
    assert_int_not_equal(reading.holder.pid, 0);
}

static void read_among_many_descriptors(void)
{
    enum { MANY = 17000 };
    const struct rlimit limit = {MANY + 1, MANY + 1};
    char byte;

    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || pipe(pipe_ends) != 0 || dup2(pipe_ends[1], MANY) < 0)
        _exit(1);
    close(pipe_ends[1]);
    while (dup(STDIN_FILENO) >= 0)
        ;
    if (read(pipe_ends[0], &byte, 1) < 0)
        _exit(1);
}

/* More than are looked at: that nobody was found is not known. */
TEST(the_other_end_among_many_descriptors, NULL, end)
{
    struct kernel_reading *wanted = &reading;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max <= 17000)
        skip();
    if (!start_in_call(read_among_many_descriptors, SYS_read))
        return;
    kernel_read_holders(proc, (uint32_t)geteuid(), clock_mono_ns() + 10 * SECOND_NS, &wanted, 1);
    assert_int_equal(reading.holder.pid, 0);
    assert_int_not_equal(reading.has & KERNEL_HAS_NO_TIME, 0);
}

TEST(times_alone, NULL, end)
{
    uint32_t pid;

    start(sleep_an_hour);
    pid = child;
    read_child(KERNEL_TIMES);
    assert_int_equal(reading.has, 0);
    assert_int_equal(reading.pid, pid);
    assert_true(reading.times.start_time_ticks != 0);
    end(NULL);
    assert_int_equal(kernel_read(proc, pid, pid, KERNEL_WHOLE, &reading), -ESRCH);
}

static int open_proc(void **state)
{
    (void)state;
    proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return proc >= 0 ? 0 : -1;
}

int main(void)
{
    return tests_run(open_proc, NULL);
}
