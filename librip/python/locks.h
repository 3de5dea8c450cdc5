/* SPDX-License-Identifier: Apache-2.0 */
/* locks.h - who holds a lock of _thread, and who waits for it. */
#ifndef RIP_PYTHON_LOCKS_H
#define RIP_PYTHON_LOCKS_H

#include "binding.h"

/* From here on locks of _thread know who holds them. 0, or -1 with an exception. */
int binding_locks_start(void);

#endif
