/* SPDX-License-Identifier: Apache-2.0 */
/* hanging_disk.h - fdatasync(2) of this program: waits while the disk is said to hang. Included by one file of it. */
#ifndef TESTS_UNIT_HANGING_DISK_H
#define TESTS_UNIT_HANGING_DISK_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t disk_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t disk_changed = PTHREAD_COND_INITIALIZER;
static bool disk_hangs;

static inline void disk_set_hanging(bool hangs)
{
    pthread_mutex_lock(&disk_mutex);
    disk_hangs = hangs;
    pthread_cond_broadcast(&disk_changed);
    pthread_mutex_unlock(&disk_mutex);
}

int fdatasync(int descriptor)
{
    pthread_mutex_lock(&disk_mutex);
    while (disk_hangs)
        pthread_cond_wait(&disk_changed, &disk_mutex);
    pthread_mutex_unlock(&disk_mutex);
    return (int)syscall(SYS_fdatasync, descriptor);
}

#endif
