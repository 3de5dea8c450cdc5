/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - see writer.h. */
#include "record/writer.h"

#include <time.h>

#include "os/clock.h"

/* Returns false after that time. */
static bool wait_for_change(struct writer *writer, uint64_t until_mono_ns)
{
    const struct timespec until = clock_timespec(until_mono_ns);

    return pthread_cond_clockwait(&writer->changed, &writer->mutex, CLOCK_MONOTONIC, &until) == 0;
}

static struct writer_job *take_job(struct writer *writer)
{
    struct writer_job *job = writer->first;

    if (job != NULL)
        writer->first = job->next;
    if (writer->first == NULL)
        writer->last = &writer->first;
    return job;
}

static void put_back(struct writer *writer, struct writer_job *job)
{
    if (writer->first == NULL)
        writer->last = &job->next;
    job->next = writer->first;
    writer->first = job;
}

static void *run(void *context)
{
    struct writer *writer = context;
    bool done = true;

    pthread_mutex_lock(&writer->mutex);
    for (;;) {
        struct writer_job *job = take_job(writer);
        const size_t bytes = job != NULL ? job->bytes : 0;

        pthread_mutex_unlock(&writer->mutex);
        done = writer->options.write(writer->options.context, job);
        pthread_mutex_lock(&writer->mutex);
        if (done)
            writer->bytes -= bytes;
        else if (job != NULL)
            put_back(writer, job);
        if (done && (job != NULL || writer->first != NULL))
            continue;
        if (writer->stopping)
            break;
        wait_for_change(writer, done ? UINT64_MAX : clock_mono_ns() + writer->options.rest_ns);
    }
    pthread_mutex_unlock(&writer->mutex);
    if (writer->options.end != NULL)
        writer->options.end(writer->options.context);
    pthread_mutex_lock(&writer->mutex);
    writer->stopped = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

static void destroy(struct writer *writer)
{
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
}

int writer_open(struct writer *writer, const struct writer_options *options)
{
    int error;

    *writer = (struct writer){.options = *options, .last = &writer->first};
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->changed, NULL);
    error = pthread_create(&writer->thread, NULL, run, writer);
    if (error != 0)
        destroy(writer);
    return -error;
}

bool writer_add(struct writer *writer, struct writer_job *job)
{
    if (job->bytes > writer->options.bytes_max - writer->bytes)
        return false;
    writer->bytes += job->bytes;
    *writer->last = job;
    writer->last = &job->next;
    pthread_cond_broadcast(&writer->changed);
    return true;
}

bool writer_close(struct writer *writer, uint64_t timeout_ns)
{
    const uint64_t until_mono_ns = clock_mono_ns() + timeout_ns;
    bool stopped;

    pthread_mutex_lock(&writer->mutex);
    writer->stopping = true;
    pthread_cond_broadcast(&writer->changed);
    while (!writer->stopped && wait_for_change(writer, until_mono_ns))
        continue;
    stopped = writer->stopped;
    pthread_mutex_unlock(&writer->mutex);
    if (!stopped)
        return false;
    pthread_join(writer->thread, NULL);
    destroy(writer);
    return true;
}
