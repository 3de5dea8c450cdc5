/* SPDX-License-Identifier: Apache-2.0 */
/* tasks_find.h - finds asyncio's internal functions, and makes asyncio call ours. */
#ifndef RIP_PYTHON_TASKS_FIND_H
#define RIP_PYTHON_TASKS_FIND_H

#include "tasks.h"

/* Offsets of a task's fields, and asyncio functions that are not in its modules' dictionaries. */
struct tasks_asyncio {
    size_t name_at, coroutine_at; /* offsets in bytes */
    PyObject *done;               /* the method Future.done */
    ternaryfunc step;             /* tp_call of an object like struct tasks_stepper */
    PyCFunction wake_up;          /* called by a future */
    initproc init;                /* tp_init of tasks */
    destructor dealloc;           /* tp_dealloc of tasks */
};
extern struct tasks_asyncio tasks_asyncio;

/* The layout of the object that the loop calls for a step that is not caused by a future. */
struct tasks_stepper {
    PyObject base;
    PyObject *task;
};

/* Replaces asyncio's functions by ours, now or when asyncio is imported. */
void tasks_find(const struct tasks_asyncio *ours);

#endif
