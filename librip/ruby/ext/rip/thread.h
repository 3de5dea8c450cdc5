/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads and fibers: names, ids, and what each has besides. With the GVL. */
#ifndef RIP_RUBY_THREAD_H
#define RIP_RUBY_THREAD_H

#include <stdbool.h>
#include <stdint.h>

void thread_start(void);
/* Of what runs on this thread: the thread itself, or a fiber. */
struct note *thread_note(void);
uint32_t thread_id(void);
/* Of a fiber, by the address of Ruby's struct: its own, or the tid of the thread whose first one it is. */
uint32_t thread_id_of(const void *fiber);
bool thread_id_is_fiber(uint32_t id);
/* Of the fiber that runs, to be kept until it has gone; NULL where a thread does. */
struct mutex_wait *thread_fiber_wait(void);

#endif
