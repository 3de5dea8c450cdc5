/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - a thread that writes what the scanner hands over, one job after the other.
 *
 * Guarantees
 *   A. writer_add() does not wait for the disk: the mutex is held only briefly, never while a job is written. Jobs that
 *      are not written yet take at most bytes_max; more are refused.
 *   B. If the disk hangs, writer_close() returns after its timeout. The thread keeps what it uses, until the process
 *      ends.
 */
#ifndef RIPD_RECORD_WRITER_H
#define RIPD_RECORD_WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first member of each job. */
struct writer_job {
    struct writer_job *next;
    size_t bytes;
};

/* Filled in by the caller. The functions are called on the thread, without the mutex. */
struct writer_options {
    void *context;
    size_t bytes_max;
    uint64_t rest_ns;
    /*
     * Returns true if the job is done and freed. If it returns false, it is called again with the same job, after
     * rest_ns or when another job is added, unless the writer is being closed. It is also called with NULL at the start
     * and whenever no job is left; then false means the same.
     */
    bool (*write)(void *context, struct writer_job *job);
    void (*end)(void *context); /* after the last job; may be NULL */
};

struct writer {
    struct writer_options options;
    pthread_t thread;
    /* Protects all that follows, and what the caller shares with the functions. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct writer_job *first;
    struct writer_job **last;
    size_t bytes;
    bool stopping;
    bool stopped;
};

/* Starts the thread. Returns 0 or -errno. */
int writer_open(struct writer *writer, const struct writer_options *options);

/* Caller holds the mutex. Returns false if there is no room; then the job stays the caller's. */
bool writer_add(struct writer *writer, struct writer_job *job);

/*
 * Returns true when all jobs are written, or one could not be. Returns false after the timeout; then the thread still
 * uses writer and context.
 */
bool writer_close(struct writer *writer, uint64_t timeout_ns);

#endif
