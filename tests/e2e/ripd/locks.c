/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks.c - threads that wait for each other, for test_locks.py: `locks SCENARIO [NUMBER]` under the preload library.
 * Every thread has a name. Prints "ready" when all are about to wait. Threads that write to the full pipe wait for
 * ever.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 64 };

static pthread_mutex_t mutexes[LOCKS];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t meeting;
static int never[2]; /* a full pipe that is never read */
static long number;

static void rest(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&pause, NULL);
}

static void start(const char *name, long index, void *(*routine)(void *))
{
    char text[32]; /* the kernel keeps only 15 bytes */
    pthread_t thread;

    snprintf(text, sizeof(text), "%s-%ld", name, index);
    if (pthread_create(&thread, NULL, routine, (void *)(size_t)index) != 0)
        exit(3);
    pthread_setname_np(thread, text);
}

static void *fill_for_ever(void)
{
    char byte = 0;

    return write(never[1], &byte, 1) == 1 ? NULL : &never;
}

/* Each thread holds its own mutex and waits for the next one. */
static void *go_round(void *argument)
{
    size_t own = (size_t)argument;

    pthread_mutex_lock(&mutexes[own]);
    pthread_barrier_wait(&meeting);
    pthread_mutex_lock(&mutexes[(own + 1) % (size_t)number]);
    return NULL;
}

static void *go_round_for_a_while(void *argument)
{
    struct timespec until;
    size_t own = (size_t)argument;

    pthread_mutex_lock(&mutexes[own]);
    pthread_barrier_wait(&meeting);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 600;
    pthread_mutex_timedlock(&mutexes[(own + 1) % (size_t)number], &until);
    return NULL;
}

static void *come_behind(void *argument)
{
    pthread_barrier_wait(&meeting);
    rest(100);
    pthread_mutex_lock(&mutexes[0]);
    return argument;
}

/* The first thread holds the mutex, and the others wait for it. */
static void *stand_in_line(void *argument)
{
    size_t own = (size_t)argument;

    pthread_mutex_lock(&mutexes[own]);
    pthread_barrier_wait(&meeting);
    if (own == 0)
        return fill_for_ever();
    pthread_mutex_lock(&mutexes[own - 1]);
    return NULL;
}

static void *lock_twice(void *argument)
{
    pthread_mutex_lock(&mutexes[0]);
    pthread_barrier_wait(&meeting);
    pthread_mutex_lock(&mutexes[0]);
    return argument;
}

static void *write_for_ever(void *argument)
{
    pthread_rwlock_wrlock(&rwlock);
    pthread_barrier_wait(&meeting);
    (void)argument;
    return fill_for_ever();
}

/* These threads do not wait for each other: they are an idle service. */
static void *wait_for_input(void *argument)
{
    int ends[2];
    char byte;

    if (pipe2(ends, O_CLOEXEC) != 0)
        exit(3);
    pthread_barrier_wait(&meeting);
    return read(ends[0], &byte, 1) == 1 ? NULL : argument;
}

static void *hold_for_reading(void *argument)
{
    pthread_rwlock_rdlock(&rwlock);
    pthread_barrier_wait(&meeting);
    (void)argument;
    return fill_for_ever();
}

static void *want_to_read(void *argument)
{
    pthread_barrier_wait(&meeting);
    pthread_rwlock_rdlock(&rwlock);
    return argument;
}

static void *want_to_write(void *argument)
{
    pthread_barrier_wait(&meeting);
    pthread_rwlock_wrlock(&rwlock);
    return argument;
}

/*
 * Not a deadlock, but it looks like one if old facts are combined. A (0) holds 1 and waits for 0, which B (1) holds. B
 * releases 0, which goes to C (2), because C waited before A. Then B waits for 1, which A holds. C holds 0 for a long
 * time.
 */
static void *seem_deadlocked(void *argument)
{
    size_t who = (size_t)argument;

    for (int round = 0; round < 4; round++) {
        pthread_barrier_wait(&meeting);
        if (who == 0) {
            pthread_mutex_lock(&mutexes[1]);
            rest(300);
            pthread_mutex_lock(&mutexes[0]);
            pthread_mutex_unlock(&mutexes[0]);
            pthread_mutex_unlock(&mutexes[1]);
        } else if (who == 1) {
            pthread_mutex_lock(&mutexes[0]);
            rest(600);
            pthread_mutex_unlock(&mutexes[0]);
            rest(50);
            pthread_mutex_lock(&mutexes[1]);
            pthread_mutex_unlock(&mutexes[1]);
        } else {
            rest(100);
            pthread_mutex_lock(&mutexes[0]);
            rest(1700);
            pthread_mutex_unlock(&mutexes[0]);
        }
    }
    return NULL;
}

static bool over;

/*
 * Takes two of four locks, in an order without deadlocks, and holds them so long that other threads wait for seconds.
 */
static void *hand_over(void *argument)
{
    unsigned seed = (unsigned)(size_t)argument;

    pthread_barrier_wait(&meeting);
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        unsigned first = (unsigned)rand_r(&seed) % 3, second = first + 1 + (unsigned)rand_r(&seed) % (3 - first);

        pthread_mutex_lock(&mutexes[first]);
        pthread_mutex_lock(&mutexes[second]);
        rest(rand_r(&seed) % 40);
        pthread_mutex_unlock(&mutexes[first]);
        rest(rand_r(&seed) % 20);
        pthread_mutex_unlock(&mutexes[second]);
    }
    return NULL;
}

static const struct scenario {
    const char *name;
    void *(*first)(void *);
    const char *first_name;
    long first_count; /* 0: use NUMBER */
    void *(*others)(void *);
    const char *others_name; /* there are NUMBER of them, unless this is NULL */
} scenarios[] = {
    {"cycle", go_round, "cycle", 0, NULL, NULL},
    {"cycle-for-a-while", go_round_for_a_while, "cycle", 0, NULL, NULL},
    {"behind", go_round, "cycle", 0, come_behind, "behind"},
    {"line", stand_in_line, "line", 0, NULL, NULL},
    {"twice", lock_twice, "twice", 1, NULL, NULL},
    {"written", write_for_ever, "writer", 1, want_to_read, "reader"},
    {"read", hold_for_reading, "holder", 1, want_to_write, "wants"},
    {"seeming", seem_deadlocked, "seeming", 3, NULL, NULL},
    {"handover", hand_over, "hand", 0, NULL, NULL},
    {"input", wait_for_input, "input", 0, NULL, NULL},
};

static void play(const struct scenario *scenario)
{
    long first_count = scenario->first_count != 0 ? scenario->first_count : number;
    long others_count = scenario->others != NULL ? number : 0;

    /* The main thread also waits at the barrier, except in seem_deadlocked, where the threads meet again. */
    pthread_barrier_init(&meeting, NULL, (unsigned)(first_count + others_count) + (scenario->first != seem_deadlocked));
    for (long i = 0; i < first_count; i++)
        start(scenario->first_name, i, scenario->first);
    for (long i = 0; i < others_count; i++)
        start(scenario->others_name, i, scenario->others);
    if (scenario->first != seem_deadlocked)
        pthread_barrier_wait(&meeting);
}

static bool fill(int pipe)
{
    static const char block[4096];
    int flags = fcntl(pipe, F_GETFL);

    if (fcntl(pipe, F_SETFL, flags | O_NONBLOCK) != 0)
        return false;
    while (write(pipe, block, sizeof(block)) > 0)
        ;
    return fcntl(pipe, F_SETFL, flags) == 0;
}

int main(int count, char **words)
{
    for (size_t i = 0; i < LOCKS; i++)
        pthread_mutex_init(&mutexes[i], NULL);
    number = count > 2 ? atol(words[2]) : 1;
    if (pipe2(never, O_CLOEXEC) != 0 || !fill(never[1]))
        return 3;
    for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
        if (count < 2 || strcmp(words[1], scenarios[i].name) != 0)
            continue;
        play(&scenarios[i]);
        printf("ready\n");
        fflush(stdout);
        poll(&(struct pollfd){.fd = 0, .events = POLLIN}, 1, -1); /* the main thread waits for work */
        __atomic_store_n(&over, true, __ATOMIC_RELAXED);
        _exit(0);
    }
    return 2;
}
