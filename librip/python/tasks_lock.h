/* SPDX-License-Identifier: Apache-2.0 */
/* tasks_lock.h - records the holders of asyncio's locks, and the tasks that await them. */
#ifndef RIP_PYTHON_TASKS_LOCK_H
#define RIP_PYTHON_TASKS_LOCK_H

#include "tasks.h"

/* Starts to record the holders of locks. Does nothing the second time, or while asyncio.locks is not imported. */
void tasks_lock_start(void);
/* Returns the lock that this frame of Lock.acquire() waits for, borrowed, or NULL for a frame of another function. */
PyObject *tasks_lock_of(const struct _PyInterpreterFrame *frame);
/* Call when the running task begins to await the lock. Returns false if the lock is not held. */
bool tasks_lock_await(struct task *task, PyObject *lock);
/* Ends the await. Does nothing if the task awaits no lock. */
void tasks_lock_await_end(struct task *task);
/* Call when the task has ended: the holder of its locks is not known any more. */
void tasks_lock_abandon(struct task *task);

#endif
