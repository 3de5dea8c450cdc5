/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kernel_read.c - looks at real threads of a child: ripd/probe/kernel.c, kernel_holder.c, and kernel_memory.c
 * except paths and addresses, which are in test_kernel_memory.c. Tests may not run as root, and tracing may be
 * forbidden: what the kernel denies is skipped.
 */
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
#include <time.h>

#include "os/clock.h"
#include "os/file.h"
#include "unit/probe_child.h"

#define SECOND_NS UINT64_C(1000000000)

static int pipe_ends[2];

static bool start_in_call(void (*body)(void *context), long number)
{
    return child_start_in_call(body, NULL, number);
}

/* If the thread has run since its reading, it may be in another call: nothing of its memory is read. */
static void assert_not_read_later(uint32_t has)
{
    reading.has &= ~has;
    reading.times.voluntary_count--;
    reading.times.slice_count--;
    kernel_read_memory(proc, &reading);
    assert_int_equal(reading.has & has, 0);
}

/* Timeouts --------------------------------------------------------------------------------------------------------- */

static void sleep_an_hour(void *context)
{
    const struct timespec hour = {.tv_sec = 3600, .tv_nsec = 5};

    (void)context;
    syscall(SYS_nanosleep, &hour, NULL);
}

static void sleep_until_tomorrow(void *context)
{
    struct timespec when;

    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &when);
    when.tv_sec += 86400;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

static void select_for_seven_seconds(void *context)
{
    struct timespec seven = {.tv_sec = 7};

    (void)context;
    pselect(0, NULL, NULL, NULL, &seven, NULL);
}

static int semaphores;

static void wait_for_a_semaphore(void *context)
{
    struct sembuf down = {.sem_op = -1};
    struct timespec seven = {.tv_sec = 7};

    (void)context;
    semtimedop(semaphores, &down, 1, &seven);
}

TEST(timeouts)
{
    static const struct {
        long number;
        void (*body)(void *context);
        uint64_t timeout_ns; /* 0 = an instant is no duration */
        const char *wchan;
    } rows[] = {{SYS_nanosleep, sleep_an_hour, 3600 * SECOND_NS + 5, "hrtimer_nanosleep"},
                {SYS_clock_nanosleep, sleep_until_tomorrow, 0, "hrtimer_nanosleep"},
                {SYS_pselect6, select_for_seven_seconds, 7 * SECOND_NS, NULL},
                {SYS_semtimedop, wait_for_a_semaphore, 7 * SECOND_NS, NULL}};

    semaphores = semget(IPC_PRIVATE, 1, 0600);
    assert_true(semaphores >= 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (start_in_call(rows[i].body, rows[i].number)) {
            assert_int_equal(reading.times.state, 'S');
            assert_int_equal(reading.has & KERNEL_HAS_TIMEOUT, 0);
            kernel_read_memory(proc, &reading);
            assert_int_equal((reading.has & KERNEL_HAS_TIMEOUT) != 0, rows[i].timeout_ns != 0);
            assert_int_equal(reading.timeout_ns, rows[i].timeout_ns);
            if (rows[i].wchan != NULL)
                assert_string_equal(reading.wchan, rows[i].wchan);
        }
        child_end(NULL);
    }
    semctl(semaphores, 0, IPC_RMID);
}

static void sleep_with_a_bad_address(void *context)
{
    (void)context;
    for (;;) /* each call returns EFAULT at once */
        syscall(SYS_nanosleep, (void *)16, NULL);
}

/* The address is not mapped, or the thread is not in the call any more: the timeout is not known. */
TEST(a_timeout_at_a_bad_address, NULL, child_end)
{
    child_start(sleep_with_a_bad_address, NULL);
    reading = (struct kernel_reading){
        .times = {.state = 'S'},
        .pid = (uint32_t)child,
        .tid = (uint32_t)child,
        .has = KERNEL_HAS_SYSCALL,
        .call = {.kind = PROC_SYSCALL_INSIDE,
                 .number = SYS_nanosleep,
                 .arguments = {16},
                 .stack_pointer = UINT64_C(0x7fff00000000)},
    };
    kernel_read_memory(proc, &reading);
    assert_int_equal(reading.has & KERNEL_HAS_TIMEOUT, 0);
}

/* Locks ------------------------------------------------------------------------------------------------------------ */

static void lock_twice(void *context)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

    (void)context;
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
}

TEST(the_holder_of_a_lock, NULL, child_end)
{
    if (start_in_call(lock_twice, SYS_futex)) {
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

static void wait_for_a_word(void *context)
{
    static uint32_t words[14];

    (void)context;
    syscall(SYS_futex, words, 0, 0, NULL, NULL, 0);
}

TEST(a_futex_that_is_no_lock, NULL, child_end)
{
    if (start_in_call(wait_for_a_word, SYS_futex)) {
        kernel_read_memory(proc, &reading);
        assert_int_equal(reading.has & KERNEL_HAS_LOCK, 0);
    }
}

/* Polls ------------------------------------------------------------------------------------------------------------ */

struct polled {
    int descriptors[2]; /* 'p' = the pipe, 'e' = an eventfd, -1 = none */
    unsigned count;
    bool known; /* whether one descriptor is what the thread waits for */
};

static void poll_them(void *context)
{
    const struct polled *polled = context;
    struct pollfd list[2];

    for (unsigned i = 0; i < polled->count; i++)
        list[i] = (struct pollfd){.fd = polled->descriptors[i], .events = POLLIN};
    for (unsigned i = 0; i < polled->count; i++)
        if (list[i].fd >= 0)
            list[i].fd = list[i].fd == 'p' ? pipe_ends[0] : eventfd(0, 0);
    syscall(SYS_ppoll, list, polled->count, NULL, NULL, 0);
}

/* An interpreter polls an eventfd, too, by which it wakes its threads. That one does not count. */
TEST(polled_descriptors)
{
    static struct polled rows[] = {{{'p', 'p'}, 2, false}, {{-1}, 1, false}, {{'p'}, 1, true}, {{'p', 'e'}, 2, true}};

    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (child_start_in_call(poll_them, &rows[i], SYS_ppoll)) {
            assert_int_equal(reading.has & KERNEL_HAS_DESCRIPTOR, 0);
            kernel_read_memory(proc, &reading);
            assert_int_equal((reading.has & KERNEL_HAS_DESCRIPTOR) != 0, rows[i].known);
        }
        if ((reading.has & KERNEL_HAS_DESCRIPTOR) != 0) {
            assert_int_equal(reading.descriptor_number, pipe_ends[0]);
            assert_int_equal(strncmp(reading.descriptor.link, "pipe:[", 6), 0);
            assert_true(reading.descriptor.readable && !reading.descriptor.writable);
            assert_not_read_later(KERNEL_HAS_DESCRIPTOR);
        }
        child_end(NULL);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

/* Threads that run while they are read ----------------------------------------------------------------------------- */

/* Makes the thread look as if it ran during some looks: the linker puts these functions around the kernel's counts.
 */
static struct {
    bool made_up;
    unsigned left;
    unsigned count;
    unsigned look_count;
    int result; /* of reading the counts; 0 = success */
} runs;

int __real_proc_thread_schedstat(int directory, uint32_t pid, uint32_t tid, struct proc_schedstat *ret_schedstat);
int __wrap_proc_thread_schedstat(int directory, uint32_t pid, uint32_t tid, struct proc_schedstat *ret_schedstat);
int __real_proc_thread_wchan(int directory, uint32_t pid, uint32_t tid, char ret_wchan[PROC_WCHAN_BYTES]);
int __wrap_proc_thread_wchan(int directory, uint32_t pid, uint32_t tid, char ret_wchan[PROC_WCHAN_BYTES]);

int __wrap_proc_thread_schedstat(int directory, uint32_t pid, uint32_t tid, struct proc_schedstat *ret_schedstat)
{
    if (runs.result != 0)
        return runs.result;
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

/* A reading is repeated until the thread has not run meanwhile. If it runs each time, its wait is left out. */
TEST(a_thread_that_runs_meanwhile, NULL, child_end)
{
    enum { LOOKS = 4 };
    bool known = start_in_call(sleep_an_hour, SYS_nanosleep);

    for (unsigned count = 0; count <= LOOKS + 1; count++) {
        runs.made_up = true;
        runs.left = count;
        runs.look_count = 0;
        child_read(KERNEL_WHOLE);
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

/* Naps next to a process that spins on the same processor, so that some readings see it awake but not running. */
static void nap_next_to_a_spinner(void *context)
{
    pid_t parent = getpid();
    cpu_set_t first;

    (void)context;
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof(first), &first); /* if this is not allowed, the test proves less */
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent)
            ;
        _exit(0);
    }
    for (;;)
        usleep(200);
}

TEST(a_thread_that_wakes_meanwhile, NULL, child_end)
{
    child_start(nap_next_to_a_spinner, NULL);
    for (int i = 0; i < 20000; i++) {
        child_read(KERNEL_WHOLE);
        assert_true((reading.has & KERNEL_HAS_SYSCALL) == 0 || reading.call.kind != PROC_SYSCALL_RUNNING);
    }
}

/* Holders: test_kernel_unix.c has the rest ------------------------------------------------------------------------- */

static void read_holders(void)
{
    struct kernel_reading *wanted = &reading;

    kernel_read_holders(proc, geteuid(), clock_mono_ns() + 10 * SECOND_NS, &wanted, 1);
}

/* Lets the time of a search end after so many processes. */
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

static void read_output_of_a_child(void *context)
{
    char byte;

    (void)context;
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

/* The process's own children are searched first, so their output is found among any number of processes. */
TEST(children_are_searched_first, NULL, child_end)
{
    if (!start_in_call(read_output_of_a_child, SYS_read))
        return;
    assert_int_equal(strncmp(reading.descriptor.link, "pipe:[", 6), 0);
    processes_left = 3;
    read_holders();
    processes_left = UINT_MAX;
    assert_int_not_equal(reading.has & KERNEL_HAS_CHILD_OUTPUT, 0);
    assert_int_not_equal(reading.holder.pid, 0);
}

enum { MANY_DESCRIPTORS = 17000 };

static void read_among_many_descriptors(void *context)
{
    const struct rlimit limit = {MANY_DESCRIPTORS + 1, MANY_DESCRIPTORS + 1};
    char byte;

    (void)context;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || pipe(pipe_ends) != 0 || dup2(pipe_ends[1], MANY_DESCRIPTORS) < 0)
        _exit(1);
    close(pipe_ends[1]);
    while (dup(STDIN_FILENO) >= 0)
        ;
    if (read(pipe_ends[0], &byte, 1) < 0)
        _exit(1);
}

/* A search looks at fewer descriptors than these. It reports that there may be a holder. */
TEST(too_many_descriptors, NULL, child_end)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max <= MANY_DESCRIPTORS)
        skip();
    if (!start_in_call(read_among_many_descriptors, SYS_read))
        return;
    read_holders();
    assert_int_equal(reading.holder.pid, 0);
    assert_int_not_equal(reading.has & KERNEL_HAS_NO_TIME, 0);
}

TEST(times)
{
    uint32_t pid;

    child_start(sleep_an_hour, NULL);
    pid = (uint32_t)child;
    child_read(KERNEL_TIMES);
    assert_int_equal(reading.has, 0);
    assert_int_equal(reading.pid, pid);
    assert_true(reading.times.start_time_ticks != 0);
    runs.result = -EMFILE;
    assert_int_equal(kernel_read(proc, pid, pid, KERNEL_TIMES, &reading), -EMFILE);
    runs.result = 0;
    child_end(NULL);
    assert_int_equal(kernel_read(proc, pid, pid, KERNEL_WHOLE, &reading), -ESRCH);
}

int main(void)
{
    return tests_run(open_proc, NULL);
}
