/* SPDX-License-Identifier: Apache-2.0 */
/* locks.h - records the holders of _thread's locks, and marks the threads that wait for them. */
#ifndef RIP_PYTHON_LOCKS_H
#define RIP_PYTHON_LOCKS_H

#include "binding.h"

/* Starts to record holders and waits. Returns 0, or -1 with an exception. */
int binding_locks_start(void);

#endif
