/* SPDX-License-Identifier: Apache-2.0 */
/* writer.c - see writer.h. */
#include "record/writer.h"

#include "os/clock.h"

static void wait_for_job(struct writer *writer)
{
    const struct timespec until = clock_timespec(clock_wall_ns() + writer->options.rest_ns);

    if (writer->options.rest_ns != 0)
        (void)pthread_cond_timedwait(&writer->changed, &writer->mutex, &until);
    else
        pthread_cond_wait(&writer->changed, &writer->mutex);
}

static struct writer_job *take_job(struct writer *writer)
{
    struct writer_job *job = writer->first;

    if (job == NULL)
        return NULL;
    writer->first = job->next;
    if (writer->first == NULL)
        writer->last = &writer->first;
    return job;
}

static void *run(void *context)
{
    struct writer *writer = context;

    pthread_mutex_lock(&writer->mutex);
    while (!writer->stopping || writer->first != NULL) {
        struct writer_job *job;
        size_t bytes;

        if (writer->first == NULL)
            wait_for_job(writer);
        job = take_job(writer);
        bytes = job != NULL ? job->bytes : 0;
        pthread_mutex_unlock(&writer->mutex);
        writer->options.write(writer->options.context, job);
        pthread_mutex_lock(&writer->mutex);
        writer->bytes -= bytes;
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
    bool has_room;

    pthread_mutex_lock(&writer->mutex);
    has_room = job->bytes <= writer->options.bytes_max - writer->bytes;
    if (has_room) {
        writer->bytes += job->bytes;
        *writer->last = job;
        writer->last = &job->next;
        pthread_cond_broadcast(&writer->changed);
    }
    pthread_mutex_unlock(&writer->mutex);
    return has_room;
}

bool writer_close(struct writer *writer, uint64_t patience_ns)
{
    const struct timespec until = clock_timespec(clock_wall_ns() + patience_ns);
    bool stopped;
    int error = 0;

    pthread_mutex_lock(&writer->mutex);
    writer->stopping = true;
    pthread_cond_broadcast(&writer->changed);
    while (!writer->stopped && error == 0)
        error = pthread_cond_timedwait(&writer->changed, &writer->mutex, &until);
    stopped = writer->stopped;
    pthread_mutex_unlock(&writer->mutex);
    if (!stopped)
        return false;
    pthread_join(writer->thread, NULL);
    destroy(writer);
    return true;
}
