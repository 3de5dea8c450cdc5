/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snake_binding.c - the binding of the interpreter in snake.c. It reports the locations of threads, the lock of the
 * interpreter, and the calls that it makes itself. One thread for each case, named after the case. Prints what it
 * observes, one line each.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rip/runtime.h"

#define CONTENDED 2 /* state of a glibc mutex: held, with waiters */
#define FILE_NAME "app/order.snake"

static const struct rip_runtime *rip;
static __thread uint64_t line_now __attribute__((tls_model("initial-exec")));
static uint64_t function_number;

/* The lock of the interpreter and its state. */
static struct {
    pthread_mutex_t mutex;
    pthread_mutex_t short_mutex;
    pthread_mutex_t condition_mutex;
    pthread_cond_t condition;
} lock = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
static uint32_t holder;
static int silent_pipe[2];

static uint32_t holder_now(void)
{
    return holder;
}

static uint64_t place(void)
{
    return line_now;
}

static void read_silence(void)
{
    char byte;

    (void)!read(silent_pipe[0], &byte, 1);
}

static void wait_for_nothing(void)
{
    sem_t semaphore;

    sem_init(&semaphore, 0, 0);
    sem_wait(&semaphore);
}

static void wait_for_condition(void)
{
    pthread_mutex_lock(&lock.condition_mutex);
    pthread_cond_wait(&lock.condition, &lock.condition_mutex);
}

static void case_reads(void)
{
    read_silence();
}

static void case_idles(void)
{
    wait_for_nothing();
}

/* The thread is in no script, so its location is the address of the call. */
static void case_native(void)
{
    line_now = 0;
    read_silence();
}

static void case_wants_mutex(void)
{
    sleep(0);
    line_now++;
    pthread_mutex_lock(&lock.mutex);
}

/* The thread makes its first call. */
static void case_wants_condition(void)
{
    wait_for_condition();
}

/* The thread makes no call after it got the lock. */
static void case_computes(void)
{
    sleep(0);
    line_now++;
    pthread_mutex_lock(&lock.short_mutex);
    for (;;)
        __asm__ volatile("pause");
}

static void case_locks_itself(void)
{
    rip->call_begin((const void *)(uintptr_t)(line_now + 1), RIP_CALL_LOCK);
    rip->call_begin((const void *)(uintptr_t)(line_now + 2), RIP_CALL_WORK);
    wait_for_nothing();
}

static void case_idles_itself(void)
{
    rip->call_begin((const void *)(uintptr_t)(line_now + 1), RIP_CALL_WORK);
    read_silence();
}

/* The thread's wait is over, but it still waits for the interpreter's lock. */
static void case_woken(void)
{
    rip->call_begin((const void *)(uintptr_t)(line_now + 1), RIP_CALL_WORK);
    line_now += 2;
    wait_for_condition();
}

static void case_done_itself(void)
{
    rip->call_begin((const void *)(uintptr_t)(line_now + 1), RIP_CALL_WORK);
    rip->call_end();
    for (;;)
        __asm__ volatile("pause");
}

static void case_renamed(void)
{
    rip->rename("another name, longer than the kernel takes", 42);
    read_silence();
}

/* The thread releases the lock for its wait. Before that, another thread must wait for the lock. */
static void case_gives_way(void)
{
    struct timespec soon;

    rip->call_begin((const void *)(uintptr_t)(line_now + 1), RIP_CALL_WORK);
    clock_gettime(CLOCK_REALTIME, &soon);
    pthread_mutex_lock(&lock.condition_mutex);
    pthread_cond_timedwait(&lock.condition, &lock.condition_mutex, &soon);
    pthread_mutex_unlock(&lock.condition_mutex);
    read_silence();
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"reads", case_reads},
    {"idles", case_idles},
    {"native", case_native},
    {"wants mutex", case_wants_mutex},
    {"wants condition", case_wants_condition},
    {"computes", case_computes},
    {"locks itself", case_locks_itself},
    {"idles itself", case_idles_itself},
    {"woken", case_woken},
    {"done itself", case_done_itself},
    {"renamed", case_renamed},
    {"gives way", case_gives_way},
};
#define CASE_COUNT (sizeof(cases) / sizeof(cases[0]))

static void *thread_main(void *argument)
{
    const size_t i = (size_t)argument;

    pthread_setname_np(pthread_self(), cases[i].name);
    line_now = (uint64_t)(uintptr_t)RIP_SCRIPT_LINE(function_number, 10 * (i + 1));
    cases[i].run();
    return NULL;
}

static void watch(void)
{
    pthread_mutex_t mutexes[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
    const void *first, *last;

    rip->watch_begin();
    for (unsigned int i = 0; i < 3; i++)
        pthread_mutex_lock(&mutexes[i]);
    rip->watch_end(&first, &last);
    printf("watched %td %td\n", (const pthread_mutex_t *)first - mutexes, (const pthread_mutex_t *)last - mutexes);
}

static void describe_descriptors(void)
{
    int sockets[2];

    if (pipe(silent_pipe) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0)
        abort();
    printf("descriptors %d %d %d\n", rip->descriptor(silent_pipe[0]), rip->descriptor(sockets[0]), rip->descriptor(-1));
}

void rip_python_start(void);
void rip_python_start(void)
{
    pthread_t thread;

    rip = rip_runtime_get();
    printf("flags %u size %d traced %d ring %d\n", rip->flags, rip->size_bytes == sizeof(*rip), rip->is_traced(),
           rip->create_ring("ignored", 1));
    function_number = rip->script(FILE_NAME, strlen(FILE_NAME), "Order.place", strlen("Order.place"), 7);
    rip->set_place(place);
    rip->set_interpreter_lock(&lock, sizeof(lock), holder_now);
    watch();
    describe_descriptors();
    holder = (uint32_t)gettid();
    pthread_mutex_lock(&lock.mutex);
    pthread_mutex_lock(&lock.short_mutex);
    for (size_t i = 0; i < CASE_COUNT; i++)
        if (pthread_create(&thread, NULL, thread_main, (void *)i) != 0)
            abort();
    while (__atomic_load_n(&lock.short_mutex.__data.__lock, __ATOMIC_RELAXED) != CONTENDED)
        usleep(1000);
    pthread_mutex_unlock(&lock.short_mutex);
    fflush(stdout);
}
