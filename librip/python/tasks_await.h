/* SPDX-License-Identifier: Apache-2.0 */
/* tasks_await.h - finds out what a task awaits, and where. */
#ifndef RIP_PYTHON_TASKS_AWAIT_H
#define RIP_PYTHON_TASKS_AWAIT_H

#include "tasks.h"

/*
 * Call when the running task begins to await. Leaves a breadcrumb at the line of the await, and marks what the task
 * awaits. coroutine is the task's own.
 */
void tasks_await(struct task *task, PyObject *coroutine);
/* Returns the place where a coroutine begins, or is, as rip_snap_at() takes it. */
uint64_t tasks_place_of(PyObject *coroutine);

#endif
