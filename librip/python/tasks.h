/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks.h - makes asyncio's tasks ids. A task is registered at its first step. It is on the loop's thread while it
 * runs, and on no thread while it awaits. While a task runs, the id of the loop's thread is idle.
 *
 * tasks_find.c finds asyncio when the program has imported it, tasks.c follows the steps, tasks_await.c finds out what
 * a task awaits, and tasks_lock.c records the holders of asyncio's locks.
 *
 * Guarantees
 *   A. A program sees no change in asyncio, except an attribute _locked of the class asyncio.Lock. Steps are
 *      intercepted in C, where asyncio makes them, so it does not matter which event loop calls them.
 *   B. If asyncio is not as expected, it is left alone, and its tasks are not ids. Tasks that are written in Python
 *      (asyncio.tasks._PyTask) are not ids either.
 *   C. The code here raises no exception, and loses none that is being raised.
 *   D. A task that awaits is idle, unless it awaits a lock that is held, or a connection that the process opened, or
 *      has a deadline of its own.
 *
 * The caller of all functions holds the GIL.
 */
#ifndef RIP_PYTHON_TASKS_H
#define RIP_PYTHON_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "binding.h"

/* Starts to follow asyncio, now or when the program imports it. Call once. */
void binding_tasks_start(void);
/* Call when the program has set a deadline. It belongs to the task on this thread, if there is one. */
void binding_tasks_deadline(uint32_t ms);

/* Call when this thread has received a request. It belongs to the task on this thread, if there is one. */
void tasks_take_request(PyObject *request);

struct task_lock;

/* A task, from its first step until it is done or deallocated. */
struct task {
    PyObject *name; /* as in the ring; owned */
    struct rip_context context;
    uint64_t epoch;          /* of the context; see tasks_epoch() */
    PyCodeObject *code;      /* where the task awaited last; owned, so that no other code object gets this address */
    const void *instruction; /* in code */
    uint64_t place;          /* the same as a place for rip_snap_at() */
    int fd;                  /* an accepted connection that the task awaits; -1 = none */
    bool runs;
    bool has_deadline;
    bool is_noted;                /* the request is the task's note */
    PyObject *request;            /* received last, or the task was created for it; owned, NULL = none */
    uint32_t held_count;          /* number of locks that the task holds */
    struct task_lock *awaited;    /* the lock that the task awaits; NULL = none */
    struct task *previous, *next; /* other waiters for that lock */
};

/* Returns the task that runs on this thread, or NULL. */
struct task *tasks_running(void);
/* Returns a number that identifies the ring and the process. A context with another number is void. */
uint64_t tasks_epoch(void);

#endif
