/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hanging_disk.h - replaces fdatasync(2) of a program: it blocks while disk_set_hanging() is in effect, and fails once
 * after disk_set_failing(). Include it in one file of the program.
 */
#ifndef TESTS_UNIT_HANGING_DISK_H
#define TESTS_UNIT_HANGING_DISK_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t disk_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t disk_changed = PTHREAD_COND_INITIALIZER;
static bool disk_hangs;
static int disk_error; /* of the next fdatasync() */

static inline void disk_set_hanging(bool hangs)
{
    pthread_mutex_lock(&disk_mutex);
    disk_hangs = hangs;
    pthread_cond_broadcast(&disk_changed);
    pthread_mutex_unlock(&disk_mutex);
}

static inline void disk_set_failing(int error)
{
    pthread_mutex_lock(&disk_mutex);
    disk_error = error;
    pthread_mutex_unlock(&disk_mutex);
}

int fdatasync(int descriptor)
{
    int error;

    pthread_mutex_lock(&disk_mutex);
    while (disk_hangs)
        pthread_cond_wait(&disk_changed, &disk_mutex);
    error = disk_error;
    disk_error = 0;
    pthread_mutex_unlock(&disk_mutex);
    if (error == 0)
        return (int)syscall(SYS_fdatasync, descriptor);
    errno = error;
    return -1;
}

#endif
