/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - names, ids and notes of threads and fibers. The caller of all functions holds the GVL. */
#ifndef RIP_RUBY_THREAD_H
#define RIP_RUBY_THREAD_H

#include <stdbool.h>
#include <stdint.h>

void thread_start(void);
/* The note and the id of the fiber that runs on this thread. For a root fiber they are those of the thread. */
struct note *thread_note(void);
uint32_t thread_id(void);
/* Returns the id of a fiber. fiber is Ruby's struct. The id of a root fiber is the tid of its thread. */
uint32_t thread_id_of(const void *fiber);
bool thread_id_is_fiber(uint32_t id);
/* Returns the wait of the running fiber, valid until the fiber is freed. Returns NULL for a root fiber. */
struct mutex_wait *thread_fiber_wait(void);

#endif
