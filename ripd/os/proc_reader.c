/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_reader.c - threads that read files of /proc for a caller that must not block. See proc_reader.h.
 *
 * A thread is started when no other one is free, and is kept. proc_reader_free() leaves a hanging thread behind. Such a
 * thread holds only a reference to the reader, and the process can exit without it.
 */
#include "os/proc_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "os/clock.h"
#include "os/file.h"
#include "os/proc_parse.h"

#define STACK_BYTES (128u * 1024u)
#define SCHEDSTAT_BYTES 80u

enum state { NOT_STARTED, IDLE, REQUESTED, READING };

struct reading {
    struct proc_reader *reader;
    enum state state;
    proc_reader_read *read;
    int proc;
    uint32_t pid;
    uint64_t address;
    uint64_t began_mono_ns;
    pid_t tid;
    uint64_t number;    /* of finished reads on this thread */
    uint64_t waited_ns; /* how long the last read was blocked, without time that it waited for a processor */
    uint32_t user;      /* is refused while this thread is READING, and until refused_until_mono_ns */
    uint64_t refused_until_mono_ns;
    int result;
    unsigned char bytes[PROC_READER_BYTES];
};

struct proc_reader {
    pthread_mutex_t mutex; /* protects all members below */
    pthread_cond_t changed;
    int proc;
    proc_reader_user *user_of;
    void *context;
    bool ending;
    unsigned references;  /* of the owner and of the threads */
    uint64_t handover_ns; /* recent average of the time that a read waited for processors */
    uint64_t busy_until_mono_ns;
    struct reading readings[PROC_READERS_MAX];
};

static _Thread_local struct proc_reader *own_reader;

/* Caller holds the mutex, which is unlocked on return. */
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

/* Returns how often the calling thread has blocked, without waits for a processor. */
static long voluntary_switches(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

/* Returns how long the calling thread has been on a processor or ready for one. */
static uint64_t runnable_ns(void)
{
    struct proc_schedstat times = {0};
    char text[SCHEDSTAT_BYTES];

    if (file_read_at(AT_FDCWD, text, sizeof(text), "/proc/thread-self/schedstat") > 0)
        (void)proc_parse_schedstat(text, &times);
    return clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + times.wait_ns; /* times.cpu_ns advances with the clock tick only */
}

/* Whether the thread is blocked rather than ready for a processor. */
static bool is_asleep(pid_t tid)
{
    struct proc_stat stat;
    char text[PROC_HELD_BYTES];

    return file_read_at(AT_FDCWD, text, sizeof(text), "/proc/self/task/%d/stat", (int)tid) <= 0 ||
           proc_parse_stat(text, &stat) != 0 || stat.state != 'R';
}

static void *run(void *context)
{
    struct reading *reading = context;
    struct proc_reader *reader = reading->reader;
    unsigned char bytes[PROC_READER_BYTES] = {0};

    pthread_mutex_lock(&reader->mutex);
    reading->tid = gettid();
    while (!reader->ending) {
        proc_reader_read *const read = reading->read;
        const uint64_t address = reading->address;
        const uint32_t pid = reading->pid;
        const int proc = reading->proc;
        uint64_t slept_ns;
        int result;
        long waits;

        if (reading->state != REQUESTED) {
            pthread_cond_wait(&reader->changed, &reader->mutex);
            continue;
        }
        reading->state = READING;
        reading->began_mono_ns = clock_mono_ns();
        pthread_mutex_unlock(&reader->mutex);
        waits = voluntary_switches();
        slept_ns = clock_mono_ns() - runnable_ns();
        result = read(proc, pid, address, bytes);
        slept_ns = clock_mono_ns() - runnable_ns() - slept_ns;
        pthread_mutex_lock(&reader->mutex);
        reading->waited_ns = voluntary_switches() != waits && (int64_t)slept_ns > 0 ? slept_ns : 0;
        reading->result = result;
        memcpy(reading->bytes, bytes, sizeof(bytes));
        reading->state = IDLE;
        reading->number++;
        pthread_cond_broadcast(&reader->changed);
    }
    unref(reader);
    return NULL;
}

/* Caller holds the mutex. Returns false if no thread can be started. */
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
        reading->state = IDLE;
        reader->references++;
    }
    return started;
}

struct proc_reader *proc_reader_new(int proc, proc_reader_user *user_of, void *context)
{
    struct proc_reader *reader = calloc(1, sizeof(*reader));
    pthread_condattr_t attributes;

    if (reader == NULL)
        return NULL;
    reader->proc = proc;
    reader->user_of = user_of;
    reader->context = context;
    reader->references = 1;
    for (size_t i = 0; i < PROC_READERS_MAX; i++)
        reader->readings[i].reader = reader;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&reader->mutex, NULL);
    pthread_cond_init(&reader->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    own_reader = reader;
    return reader;
}

void proc_reader_free(struct proc_reader *reader)
{
    if (reader == NULL)
        return;
    if (own_reader == reader)
        own_reader = NULL;
    pthread_mutex_lock(&reader->mutex);
    reader->ending = true;
    pthread_cond_broadcast(&reader->changed);
    unref(reader);
}

/* Caller holds the mutex. Whether the process's user is refused. */
static bool is_refused(const struct proc_reader *reader, uint32_t pid, uint64_t now_mono_ns)
{
    bool is_known = false;
    uint32_t user = 0;

    for (size_t i = 0; i < PROC_READERS_MAX; i++) {
        const struct reading *reading = &reader->readings[i];

        if (reading->state != READING && reading->refused_until_mono_ns <= now_mono_ns)
            continue;
        if (!is_known)
            user = reader->user_of(reader->context, pid);
        is_known = true;
        if (reading->user == user)
            return true;
    }
    return false;
}

/* Caller holds the mutex. Returns the idle thread whose user becomes eligible first, or NULL if all are busy. */
static struct reading *find_idle(struct proc_reader *reader)
{
    struct reading *found = NULL;

    for (size_t i = 0; i < PROC_READERS_MAX; i++) {
        struct reading *reading = &reader->readings[i];

        if (reading->state == READING)
            continue;
        if (found == NULL || reading->refused_until_mono_ns < found->refused_until_mono_ns ||
            (reading->refused_until_mono_ns == found->refused_until_mono_ns && reading->state > found->state))
            found = reading;
    }
    return found != NULL && (found->state == IDLE || start(reader, found)) ? found : NULL;
}

/* Caller holds the mutex. Waits for the end of the read. Returns false if it takes too long and is left to go on. */
static bool await_read(struct proc_reader *reader, struct reading *reading)
{
    const uint64_t number = reading->number;
    uint64_t until_ns = clock_mono_ns() + PROC_READER_WAIT_NS;
    bool was_asleep = false;

    while (reading->number == number) {
        const struct timespec until = clock_timespec(until_ns);

        if (pthread_cond_timedwait(&reader->changed, &reader->mutex, &until) == 0 || reading->number != number)
            continue;
        if (reading->state != READING || !is_asleep(reading->tid)) {
            was_asleep = false;
            until_ns = clock_mono_ns() + PROC_READER_WAIT_NS; /* the thread waits for a processor, or has one */
        } else if (!was_asleep) {
            was_asleep = true; /* it may have fallen asleep just now, after waiting for a processor: look once more */
            until_ns = clock_mono_ns() + PROC_READER_WAIT_NS / 4;
        } else {
            reading->waited_ns = clock_mono_ns() - reading->began_mono_ns;
            return false;
        }
    }
    return true;
}

/* Caller holds the mutex. Updates the busy state after a read that has returned or was given up. */
static void update_busy(struct proc_reader *reader, const struct reading *reading, uint64_t asked_mono_ns)
{
    const uint64_t now_mono_ns = clock_mono_ns(), took_ns = now_mono_ns - asked_mono_ns;
    const uint64_t handover_ns = took_ns > reading->waited_ns ? took_ns - reading->waited_ns : 0;

    /* An average, because a single long wait is chance. */
    reader->handover_ns = (3 * reader->handover_ns + handover_ns) / 4;
    if (reader->handover_ns >= PROC_READER_BUSY_NS)
        reader->busy_until_mono_ns = now_mono_ns + PROC_READER_BUSY_FOR_NS;
}

int proc_reader_ask(int proc, proc_reader_read *read, uint32_t pid, uint64_t address, void *ret_bytes, size_t size)
{
    struct proc_reader *reader = own_reader;
    struct reading *reading = NULL;
    uint64_t asked_mono_ns;
    int result = -EAGAIN;

    if (reader == NULL)
        return read(proc, pid, address, ret_bytes);
    pthread_mutex_lock(&reader->mutex);
    asked_mono_ns = clock_mono_ns();
    if (!is_refused(reader, pid, asked_mono_ns))
        reading = find_idle(reader);
    if (reading != NULL) {
        reading->read = read;
        reading->proc = proc;
        reading->pid = pid;
        reading->address = address;
        reading->state = REQUESTED;
        pthread_cond_broadcast(&reader->changed);
        if (await_read(reader, reading)) {
            result = reading->result;
            if (result == 0)
                memcpy(ret_bytes, reading->bytes, size);
        }
        update_busy(reader, reading, asked_mono_ns);
        if (reading->waited_ns >= PROC_READER_SLOW_NS) {
            reading->user = reader->user_of(reader->context, pid);
            reading->refused_until_mono_ns = clock_mono_ns() + PROC_READER_REST * reading->waited_ns;
        }
    }
    pthread_mutex_unlock(&reader->mutex);
    return result;
}

bool proc_reader_is_busy(uint32_t pid)
{
    struct proc_reader *reader = own_reader;
    const uint64_t now_mono_ns = clock_mono_ns();
    bool is_busy;

    if (reader == NULL || now_mono_ns >= reader->busy_until_mono_ns)
        return false;
    pthread_mutex_lock(&reader->mutex);
    is_busy = !is_refused(reader, pid, now_mono_ns);
    pthread_mutex_unlock(&reader->mutex);
    return is_busy;
}
