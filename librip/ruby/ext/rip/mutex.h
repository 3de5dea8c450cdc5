/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.h - who waits for whom. With the GVL. */
#ifndef RIP_RUBY_MUTEX_H
#define RIP_RUBY_MUTEX_H

#include <ruby.h>
#include <stdint.h>

struct mutex_wait {
    struct mutex_wait *next;
    const void *lock; /* Ruby's struct: its first field is the fiber that has the mutex. NULL = no wait */
    struct rip_slot *slot;
    uint32_t id;
    uint32_t holder;
    uint32_t flags;
    uint64_t place; /* of a fiber that a scheduler has wait */
    uint64_t count; /* of the same, when it was marked */
    VALUE mutex;
};

void mutex_start(void);
void mutex_class_ended(VALUE name);               /* the body of a class of that name */
void mutex_switched_out(struct mutex_wait *wait); /* a fiber that waits, after what its scheduler did on it */
void mutex_forget(struct mutex_wait *wait);       /* its fiber has gone */

#endif
