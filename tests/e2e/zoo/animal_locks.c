/* SPDX-License-Identifier: Apache-2.0 */
/* animal_locks.c - those that wait in a futex: locks, conditions, semaphores. */
#include "animal.h"

#include <librip.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CYCLE_MAX = 3 };

static pthread_mutex_t mutexes[CYCLE_MAX] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                             PTHREAD_MUTEX_INITIALIZER};

/* Each of the threads has its own mutex and wants the next one's. */
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

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

/* The first thread writes and sleeps on it, the second wants to read. */
ANIMAL_STALL read_what_is_written(void)
{
    if (animal_number == 0) {
        pthread_rwlock_wrlock(&rwlock);
        animal_meet();
        for (;;)
            pause(); /* it never snapped: only the other one has a place */
    }
    animal_meet();
    rip_snap(); /* STALL(rwlock) */
    pthread_rwlock_rdlock(&rwlock);
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

const struct animal lock_animals[] = {{"deadlock-2", deadlock_of_2, 2},
                                      {"deadlock-3", deadlock_of_3, 3},
                                      {"rwlock", read_what_is_written, 2},
                                      {"condition", wait_for_a_condition, 1},
                                      {"semaphore", wait_for_a_semaphore, 1},
                                      {"futex", wait_for_a_word, 1},
                                      {NULL, NULL, 0}};
