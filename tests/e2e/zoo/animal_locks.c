/* SPDX-License-Identifier: Apache-2.0 */
/* animal_locks.c - kinds that wait in a futex: locks, conditions, semaphores. */
#include "animal.h"

#include <fcntl.h>
#include <librip.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { CYCLE_MAX = 3 };

static pthread_mutex_t mutexes[CYCLE_MAX] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                             PTHREAD_MUTEX_INITIALIZER};

/* Each thread holds its own mutex and waits for the next one. */
static void __attribute__((noinline)) lock_in_a_circle(unsigned count)
{
    pthread_mutex_lock(&mutexes[animal_number]);
    animal_meet();
    rip_snap(); /* STALL(deadlock) */
    pthread_mutex_lock(&mutexes[(animal_number + 1) % count]);
    pthread_mutex_unlock(&mutexes[(animal_number + 1) % count]);
}

static void deadlock_of_2(void)
{
    lock_in_a_circle(2);
}

static void deadlock_of_3(void)
{
    lock_in_a_circle(3);
}

static void deadlock_of_1(void)
{
    lock_in_a_circle(1);
}

/* Not a deadlock, because the waits have timeouts. */
ANIMAL_STALL lock_with_a_limit(void)
{
    struct timespec tomorrow;

    clock_gettime(CLOCK_REALTIME, &tomorrow);
    tomorrow.tv_sec += 86400;
    pthread_mutex_lock(&mutexes[animal_number]);
    animal_meet();
    rip_snap(); /* STALL(deadlock-timed) */
    pthread_mutex_timedlock(&mutexes[(animal_number + 1) % 2], &tomorrow);
}

static pthread_mutex_t robust, recursive, inheriting;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;

static void prepare_mixture(void)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inheriting, &attributes);
}

static int lock_written(void *lock)
{
    return pthread_rwlock_wrlock(lock);
}

static int lock_mutex(void *lock)
{
    return pthread_mutex_lock(lock);
}

/* Four threads, each with a lock of another kind. */
ANIMAL_STALL lock_a_mixture(void)
{
    static const struct {
        int (*lock)(void *lock);
        void *what;
    } kinds[] = {{lock_mutex, &robust}, {lock_mutex, &recursive}, {lock_mutex, &inheriting}, {lock_written, &written}};
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const unsigned next = (animal_number + 1) % 4;

    pthread_once(&once, prepare_mixture);
    kinds[animal_number].lock(kinds[animal_number].what);
    animal_meet();
    rip_snap(); /* STALL(deadlock-mixed) */
    kinds[next].lock(kinds[next].what);
}

/*
 * The first thread sleeps and holds a mutex, the second waits for it and holds another mutex, the third waits for that.
 */
ANIMAL_STALL wait_in_a_row(void)
{
    if (animal_number < 2)
        pthread_mutex_lock(&mutexes[animal_number]);
    animal_meet();
    if (animal_number == 0)
        for (;;)
            pause(); /* without a breadcrumb */
    rip_snap();      /* STALL(mutex-row) */
    pthread_mutex_lock(&mutexes[animal_number - 1]);
}

/* The first thread sleeps and holds a stdio stream, the second waits for it. */
ANIMAL_STALL lock_a_stream(void)
{
    if (animal_number == 0)
        flockfile(stdin);
    animal_meet();
    if (animal_number == 0)
        for (;;)
            pause(); /* without a breadcrumb */
    rip_snap();      /* STALL(stream) */
    flockfile(stdin);
}

/* The second thread ends while it holds the mutex. */
ANIMAL_STALL lock_what_nobody_has(void)
{
    if (animal_number == 1)
        pthread_mutex_lock(&mutexes[0]);
    animal_meet();
    if (animal_number == 1)
        return;
    rip_snap(); /* STALL(mutex-gone) */
    pthread_mutex_lock(&mutexes[0]);
}

/* Memory that two processes share. */
struct shared {
    pthread_mutex_t mutexes[2];
    atomic_uint prepared;
    atomic_uint arrived;
};

static void prepare_shared(struct shared *shared)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutexes[0], &attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->mutexes[1], &attributes);
    atomic_store(&shared->prepared, 1);
}

static void __attribute__((noinline)) lock_what_is_shared(struct shared *shared, unsigned own)
{
    pthread_mutex_lock(&shared->mutexes[own]);
    atomic_fetch_add(&shared->arrived, 1);
    while (atomic_load(&shared->arrived) < 2)
        usleep(1000);
    rip_snap(); /* STALL(deadlock-processes) */
    pthread_mutex_lock(&shared->mutexes[1 - own]);
}

/* A process and its child, in one ring. */
static void deadlock_with_a_child(void)
{
    struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;

    if (shared == MAP_FAILED)
        animal_fail("memory");
    prepare_shared(shared);
    child = fork();
    if (child < 0)
        animal_fail("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        rip_init(2, "deadlock-processes", 18, 0, 0);
    }
    lock_what_is_shared(shared, child == 0);
}

/* Two processes share only the file ZOO_FILE. The first one creates it. */
static void deadlock_with_a_stranger(void)
{
    const char *path = getenv("ZOO_FILE");
    int descriptor = path != NULL ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    const bool is_first = descriptor >= 0;
    struct shared *shared;

    if (path != NULL && !is_first)
        descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0 || ftruncate(descriptor, sizeof(*shared)) != 0)
        animal_fail("file");
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (shared == MAP_FAILED)
        animal_fail("memory");
    if (is_first)
        prepare_shared(shared);
    while (atomic_load(&shared->prepared) == 0)
        usleep(1000);
    lock_what_is_shared(shared, is_first ? 0 : 1);
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

ANIMAL_STALL read_what_nobody_writes(void)
{
    if (animal_number == 1)
        pthread_rwlock_wrlock(&rwlock);
    animal_meet();
    if (animal_number == 1)
        return;
    rip_snap(); /* STALL(rwlock-gone) */
    pthread_rwlock_rdlock(&rwlock);
}

/* The first thread holds the write lock and sleeps, the second wants to read. */
ANIMAL_STALL read_what_is_written(void)
{
    if (animal_number == 0) {
        pthread_rwlock_wrlock(&rwlock);
        animal_meet();
        for (;;)
            pause(); /* without a breadcrumb: only the other thread has a location */
    }
    animal_meet();
    rip_snap(); /* STALL(rwlock) */
    pthread_rwlock_rdlock(&rwlock);
}

/* The first thread holds a read lock and sleeps, the second wants to write. */
ANIMAL_STALL write_what_is_read(void)
{
    if (animal_number == 0)
        pthread_rwlock_rdlock(&rwlock);
    animal_meet();
    if (animal_number == 0)
        for (;;)
            pause();
    rip_snap(); /* STALL(rwlock-read) */
    pthread_rwlock_wrlock(&rwlock);
}

ANIMAL_STALL wait_for_a_condition(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

    pthread_mutex_lock(&mutex);
    rip_snap(); /* STALL(condition) */
    for (;;)
        pthread_cond_wait(&condition, &mutex);
}

ANIMAL_STALL wait_for_a_semaphore(void)
{
    sem_t semaphore;

    if (sem_init(&semaphore, 0, 0) != 0)
        animal_fail("semaphore");
    rip_snap(); /* STALL(semaphore) */
    while (sem_wait(&semaphore) != 0)
        ;
}

ANIMAL_STALL wait_for_a_word(void)
{
    static uint32_t word;

    rip_snap(); /* STALL(futex) */
    for (;;)
        syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

const struct animal lock_animals[] = {{"deadlock-1", deadlock_of_1, 1},
                                      {"deadlock-2", deadlock_of_2, 2},
                                      {"deadlock-3", deadlock_of_3, 3},
                                      {"deadlock-mixed", lock_a_mixture, 4},
                                      {"deadlock-timed", lock_with_a_limit, 2},
                                      {"mutex-row", wait_in_a_row, 3},
                                      {"stream", lock_a_stream, 2},
                                      {"deadlock-processes", deadlock_with_a_child, 1},
                                      {"deadlock-strangers", deadlock_with_a_stranger, 1},
                                      {"mutex-gone", lock_what_nobody_has, 2},
                                      {"rwlock-gone", read_what_nobody_writes, 2},
                                      {"rwlock", read_what_is_written, 2},
                                      {"rwlock-read", write_what_is_read, 2},
                                      {"condition", wait_for_a_condition, 1},
                                      {"semaphore", wait_for_a_semaphore, 1},
                                      {"futex", wait_for_a_word, 1},
                                      {NULL, NULL, 0}};
