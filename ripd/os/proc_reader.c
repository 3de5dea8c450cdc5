/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_reader.c - threads that read for one who does not wait. See proc_reader.h.
 *
 * A thread is started when no other is free, and stays. One that hangs is left behind by proc_reader_free(): it shares
 * with the others only what is counted, and the process ends without it.
 */
#include "os/proc_reader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

#define STACK_BYTES (128u * 1024u)
#define SECOND_NS UINT64_C(1000000000)

enum state { NOT_STARTED, FREE, ASKED };

struct reading {
    struct proc_reader *reader;
    enum state state;
    uint32_t user;
    proc_reader_read *read;
    uint32_t pid;
    uint64_t address;
    uint64_t number; /* of reads on this thread */
    int result;
    unsigned char bytes[PROC_READER_BYTES];
};

struct proc_reader {
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    int proc;
    bool ends;
    unsigned references; /* its owner's, and its threads' */
    struct reading readings[PROC_READERS_MAX];
};

/* With the mutex held, which is gone then. */
static void unref(struct proc_reader *reader)
{
    const bool is_last = --reader->references == 0;

    pthread_mutex_unlock(&reader->mutex);
    if (!is_last)
        return;
    pthread_cond_destroy(&reader->changed);
    pthread_mutex_destroy(&reader->mutex);
    close(reader->proc);
    free(reader);
}

static void *run(void *context)
{
    struct reading *reading = context;
    struct proc_reader *reader = reading->reader;
    unsigned char bytes[PROC_READER_BYTES] = {0};

    pthread_mutex_lock(&reader->mutex);
    while (!reader->ends) {
        proc_reader_read *const read = reading->read;
        const uint64_t address = reading->address;
        const uint32_t pid = reading->pid;
        int result;

        if (reading->state != ASKED) {
            pthread_cond_wait(&reader->changed, &reader->mutex);
            continue;
        }
        pthread_mutex_unlock(&reader->mutex);
        result = read(reader->proc, pid, address, bytes);
        pthread_mutex_lock(&reader->mutex);
        reading->result = result;
        memcpy(reading->bytes, bytes, sizeof(bytes));
        reading->state = FREE;
        reading->number++;
        pthread_cond_broadcast(&reader->changed);
    }
    unref(reader);
    return NULL;
}

/* With the mutex held. False: there can be no other thread now. */
static bool start(struct proc_reader *reader, struct reading *reading)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    bool started;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    started = pthread_create(&thread, &attributes, run, reading) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (started) {
        reading->state = FREE;
        reader->references++;
    }
    return started;
}

struct proc_reader *proc_reader_new(int proc)
{
    struct proc_reader *reader = calloc(1, sizeof(*reader));
    pthread_condattr_t attributes;

    if (reader == NULL)
        return NULL;
    reader->proc = proc;
    reader->references = 1;
    for (size_t i = 0; i < PROC_READERS_MAX; i++)
        reader->readings[i].reader = reader;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&reader->mutex, NULL);
    pthread_cond_init(&reader->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return reader;
}

void proc_reader_free(struct proc_reader *reader)
{
    if (reader == NULL)
        return;
    pthread_mutex_lock(&reader->mutex);
    reader->ends = true;
    pthread_cond_broadcast(&reader->changed);
    unref(reader);
}

/* With the mutex held. NULL: one of that user goes on, or as many as there may be. */
static struct reading *find_free(struct proc_reader *reader, uint32_t user)
{
    struct reading *found = NULL;

    for (size_t i = 0; i < PROC_READERS_MAX; i++) {
        struct reading *reading = &reader->readings[i];

        if (reading->state == ASKED && reading->user == user)
            return NULL;
        if (reading->state != ASKED && (found == NULL || reading->state > found->state))
            found = reading;
    }
    return found != NULL && (found->state == FREE || start(reader, found)) ? found : NULL;
}

int proc_reader_ask(struct proc_reader *reader, uint32_t user, proc_reader_read *read, uint32_t pid, uint64_t address,
                    void *ret_bytes, size_t size)
{
    const uint64_t until_ns = clock_mono_ns() + PROC_READER_WAIT_NS;
    const struct timespec until = {(time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS)};
    struct reading *reading;
    int result = -EAGAIN, waited = 0;

    pthread_mutex_lock(&reader->mutex);
    reading = find_free(reader, user);
    if (reading != NULL) {
        const uint64_t number = reading->number;

        reading->user = user;
        reading->read = read;
        reading->pid = pid;
        reading->address = address;
        reading->state = ASKED;
        pthread_cond_broadcast(&reader->changed);
        while (reading->number == number && waited == 0)
            waited = pthread_cond_timedwait(&reader->changed, &reader->mutex, &until);
        if (reading->number != number) {
            result = reading->result;
            if (result == 0)
                memcpy(ret_bytes, reading->bytes, size);
        }
    }
    pthread_mutex_unlock(&reader->mutex);
    return result;
}
