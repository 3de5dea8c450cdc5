/* SPDX-License-Identifier: Apache-2.0 */
/* tasks_await.h - what a task awaits, and where. */
#ifndef RIP_PYTHON_TASKS_AWAIT_H
#define RIP_PYTHON_TASKS_AWAIT_H

#include "tasks.h"

/*
 * The running task awaits from here on: leaves a breadcrumb at the line where it does, and says what for. coroutine is
 * its own.
 */
void tasks_await(struct task *task, PyObject *coroutine);
/* The place where a coroutine begins, or is, as rip_snap_at() takes it. */
uint64_t tasks_place_of(PyObject *coroutine);

#endif
