/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.h - marks waits for mutexes. The caller of all functions holds the GVL. */
#ifndef RIP_RUBY_MUTEX_H
#define RIP_RUBY_MUTEX_H

#include <ruby.h>
#include <stdint.h>

struct mutex_wait {
    struct mutex_wait *next;
    const void *lock; /* Ruby's struct: its first field is the fiber that holds the mutex. NULL = no wait */
    struct rip_slot *slot;
    uint32_t id;
    uint32_t holder;
    uint32_t flags;
    uint64_t place; /* of the fiber; only for a wait by a scheduler */
    uint64_t count; /* the slot's count when the wait was marked; only for a wait by a scheduler */
    VALUE mutex;
};

void mutex_start(void);
void mutex_class_ended(VALUE name);               /* call when the body of a class has been run */
void mutex_switched_out(struct mutex_wait *wait); /* call when the scheduler switches from a waiting fiber */
void mutex_forget(struct mutex_wait *wait);       /* call when the fiber is freed */

#endif
