/* SPDX-License-Identifier: Apache-2.0 */
/* tasks_lock.h - who holds asyncio's locks, and who awaits them. */
#ifndef RIP_PYTHON_TASKS_LOCK_H
#define RIP_PYTHON_TASKS_LOCK_H

#include "tasks.h"

/* Follows the holders of asyncio's locks. Does nothing the second time, or as long as asyncio.locks is not imported. */
void tasks_lock_start(void);
/* The lock that this frame of Lock.acquire() waits for, borrowed; NULL if it is another function's. */
PyObject *tasks_lock_of(const struct _PyInterpreterFrame *frame);
/* The running task awaits the lock from here on. False if it is not held. */
bool tasks_lock_await(struct task *task, PyObject *lock);
/* It does no longer, or did not. */
void tasks_lock_await_end(struct task *task);
/* The task has ended: who holds its locks is not known any more. */
void tasks_lock_abandon(struct task *task);

#endif
