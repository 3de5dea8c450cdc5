/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks.h - asyncio's tasks as ids: registered at their first step, on the loop's thread while they run, on none while
 * they await. The id of the loop's own thread waits for work in the meantime.
 *
 * tasks_find.c finds asyncio when the program has imported it, tasks.c follows the steps, tasks_await.c says what a
 * task awaits, and tasks_lock.c knows the holders of asyncio's locks.
 *
 * Guarantees
 *   A. Nothing changes that a program sees of asyncio, but for an attribute _locked of the class asyncio.Lock.
 *      Steps are seen in C, where they are made, so that it does not matter which event loop calls them.
 *   B. An asyncio that is not as expected is left alone: its tasks are no ids. Neither are tasks that are written in
 *      Python (asyncio.tasks._PyTask).
 *   C. No exception comes from here, and none that is under way is lost.
 *   D. A task awaits idly, unless it awaits a lock that is held, or a connection that the process opened, or has a
 *      deadline of its own.
 *
 * All functions want the GIL held.
 */
#ifndef RIP_PYTHON_TASKS_H
#define RIP_PYTHON_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "binding.h"

/* Starts to follow asyncio, now or when the program imports it. To be called once. */
void binding_tasks_start(void);
/* The task that runs on this thread, if one does, has set its threshold. */
void binding_tasks_deadline(uint32_t ms);

/* The task that runs on this thread, if one does, has received a request. */
void tasks_take_request(PyObject *request);

struct task_lock;

/* What is known of a task, from its first step until it is done or goes. */
struct task {
    PyObject *name; /* as the ring has it; owned */
    struct rip_context context;
    uint64_t epoch;          /* of the ring and the process that the context belongs to */
    PyCodeObject *code;      /* where it awaited last; owned, so that no other code has its address */
    const void *instruction; /* in code */
    uint64_t place;          /* the same for rip_snap_at() */
    int fd;                  /* the connection of a server that it awaits; -1 = none */
    bool runs;
    bool has_deadline;
    bool is_noted;                /* the request is its note */
    PyObject *request;            /* that it received last, or was made for; owned, NULL = none */
    uint32_t held_count;          /* locks that it holds */
    struct task_lock *awaited;    /* the lock that it awaits; NULL = none */
    struct task *previous, *next; /* who await that lock, too */
};

/* The task that runs on this thread; NULL = none. */
struct task *tasks_running(void);
/* Number of the ring and of the process: a context of another one is void. */
uint64_t tasks_epoch(void);

#endif
