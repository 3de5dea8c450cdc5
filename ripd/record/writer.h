/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - a thread that writes what the scanner hands over, a job after the other.
 *
 * Guarantees
 *   A. writer_add() waits for no disk: the lock is held for moments only, never while a job is written. Jobs that are
 *      not written yet take at most bytes_max; more are refused.
 *   B. Where the disk hangs, writer_close() gives up in time: the thread keeps what it uses, and goes with the process.
 */
#ifndef RIPD_RECORD_WRITER_H
#define RIPD_RECORD_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of each. */
struct writer_job {
    struct writer_job *next;
    size_t bytes;
};

/* What the caller fills in; the functions are called on the thread, without the lock. */
struct writer_options {
    void *context;
    size_t bytes_max;
    uint64_t rest_ns;
    /*
     * True: the job is done, and freed. False: it is called again with the same job, after rest_ns or when another one
     * is added, unless the writer is being closed. With NULL, at first and when no job is left, likewise.
     */
    bool (*write)(void *context, struct writer_job *job);
    void (*end)(void *context); /* after the last job; NULL: nothing is to be done */
};

struct writer {
    struct writer_options options;
    pthread_t thread;
    pthread_mutex_t mutex; /* of all that follows, and of what the caller shares with the functions */
    pthread_cond_t changed;
    struct writer_job *first;
    struct writer_job **last;
    size_t bytes;
    bool stopping;
    bool stopped;
};

/* Starts the thread. 0 or -errno. */
int writer_open(struct writer *writer, const struct writer_options *options);

/* The caller has the lock. False: there is no room, and the job stays his. */
bool writer_add(struct writer *writer, struct writer_job *job);

/*
 * Ends when all jobs are written, or one could not be. False: they are not yet, after so long; the thread still uses
 * writer and context.
 */
bool writer_close(struct writer *writer, uint64_t patience_ns);

#endif
