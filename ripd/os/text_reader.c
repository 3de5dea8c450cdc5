/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_reader.c - threads that read for one who does not wait. See text_reader.h.
 *
 * A thread is started when no other is free, and stays. One that hangs is left behind by text_reader_free(): it shares
 * with the others only what is counted, and the process ends without it.
 */
#include "os/text_reader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"

#define STACK_BYTES (128u * 1024u)
#define SECOND_NS UINT64_C(1000000000)

enum state { NOT_STARTED, FREE, ASKED };

struct reading {
    struct text_reader *reader;
    enum state state;
    uint32_t user;
    uint32_t pid;
    uint64_t number; /* of reads on this thread */
    int result;
    char text[TEXT_READER_BYTES];
};

struct text_reader {
    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t changed;
    int proc;
    text_reader_read *read;
    bool ends;
    unsigned references; /* its owner's, and its threads' */
    struct reading readings[TEXT_READERS_MAX];
};

/* With the mutex held, which is gone then. */
static void unref(struct text_reader *reader)
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
    struct text_reader *reader = reading->reader;
    char text[TEXT_READER_BYTES];

    pthread_mutex_lock(&reader->mutex);
    while (!reader->ends) {
        uint32_t pid = reading->pid;
        int result;

        if (reading->state != ASKED) {
            pthread_cond_wait(&reader->changed, &reader->mutex);
            continue;
        }
        pthread_mutex_unlock(&reader->mutex);
        text[0] = '\0';
        result = reader->read(reader->proc, pid, text, sizeof(text));
        pthread_mutex_lock(&reader->mutex);
        reading->result = result;
        snprintf(reading->text, sizeof(reading->text), "%s", text);
        reading->state = FREE;
        reading->number++;
        pthread_cond_broadcast(&reader->changed);
    }
    unref(reader);
    return NULL;
}

/* With the mutex held. False: there can be no other thread now. */
static bool start(struct text_reader *reader, struct reading *reading)
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

struct text_reader *text_reader_new(int proc, text_reader_read *read)
{
    struct text_reader *reader = calloc(1, sizeof(*reader));
    pthread_condattr_t attributes;

    if (reader == NULL)
        return NULL;
    reader->proc = proc;
    reader->read = read;
    reader->references = 1;
    for (size_t i = 0; i < TEXT_READERS_MAX; i++)
        reader->readings[i].reader = reader;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&reader->mutex, NULL);
    pthread_cond_init(&reader->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return reader;
}

void text_reader_free(struct text_reader *reader)
{
    if (reader == NULL)
        return;
    pthread_mutex_lock(&reader->mutex);
    reader->ends = true;
    pthread_cond_broadcast(&reader->changed);
    unref(reader);
}

/* With the mutex held. NULL: one of that user goes on, or as many as there may be. */
static struct reading *find_free(struct text_reader *reader, uint32_t user)
{
    struct reading *found = NULL;

    for (size_t i = 0; i < TEXT_READERS_MAX; i++) {
        struct reading *reading = &reader->readings[i];

        if (reading->state == ASKED && reading->user == user)
            return NULL;
        if (reading->state != ASKED && (found == NULL || reading->state > found->state))
            found = reading;
    }
    return found != NULL && (found->state == FREE || start(reader, found)) ? found : NULL;
}

int text_reader_ask(struct text_reader *reader, uint32_t user, uint32_t pid, char *ret_text, size_t size)
{
    const uint64_t until_ns = clock_mono_ns() + TEXT_READER_WAIT_NS;
    const struct timespec until = {(time_t)(until_ns / SECOND_NS), (long)(until_ns % SECOND_NS)};
    struct reading *reading;
    int result = -EAGAIN, waited = 0;

    pthread_mutex_lock(&reader->mutex);
    reading = find_free(reader, user);
    if (reading != NULL) {
        const uint64_t number = reading->number;

        reading->user = user;
        reading->pid = pid;
        reading->state = ASKED;
        pthread_cond_broadcast(&reader->changed);
        while (reading->number == number && waited == 0)
            waited = pthread_cond_timedwait(&reader->changed, &reader->mutex, &until);
        if (reading->number != number) {
            result = reading->result;
            if (result == 0)
                snprintf(ret_text, size, "%s", reading->text);
        }
    }
    pthread_mutex_unlock(&reader->mutex);
    return result;
}
