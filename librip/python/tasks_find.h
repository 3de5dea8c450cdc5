/* SPDX-License-Identifier: Apache-2.0 */
/* tasks_find.h - finds what asyncio is made of, and has it call ours. */
#ifndef RIP_PYTHON_TASKS_FIND_H
#define RIP_PYTHON_TASKS_FIND_H

#include "tasks.h"

/* Of asyncio: where the fields of a task are, and functions that are not in its modules' dictionaries. */
struct tasks_asyncio {
    size_t name_at, coroutine_at; /* bytes from a task's address */
    PyObject *done;               /* the method Future.done */
    ternaryfunc step;             /* a call of an object like struct tasks_stepper */
    PyCFunction wake_up;          /* what a future calls */
    initproc init;                /* of tasks */
    destructor dealloc;
};
extern struct tasks_asyncio tasks_asyncio;

/* Asyncio has the loop call one of these for a step that no future wakes up. */
struct tasks_stepper {
    PyObject base;
    PyObject *task;
};

/* Puts the functions of ours in the place of asyncio's, now or when it is imported. */
void tasks_find(const struct tasks_asyncio *ours);

#endif
