/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutex.c - who waits for a Thread::Mutex, and for whom. A mutex that is free costs one call more.
 *
 * Ruby waits for a mutex with a condition of the waiting thread's own, as it does for a queue: only here is known that
 * it is a lock, and which thread holds it.
 */
#include "binding.h"
#include "place.h"

#include <ruby/fiber/scheduler.h>

static VALUE end_wait(VALUE unused)
{
    binding_runtime->wait_end();
    binding_runtime->call_end();
    return unused;
}

/* tid of the thread to wait for; 0 = Ruby's own function neither waits, nor would it be for another thread. */
static uint32_t holder_of(VALUE mutex)
{
    const void *fiber;
    uint32_t tid;

    if (!RTEST(rb_mutex_locked_p(mutex)) || !NIL_P(rb_fiber_scheduler_current()))
        return 0;
    fiber = *(const void *const *)RTYPEDDATA_DATA(mutex); /* the first field: the fiber that has it */
    tid = layout_tid_of_fiber(fiber);
    return tid == ruby_current_ec->thread->tid ? 0 : tid;
}

static VALUE mutex_lock(VALUE mutex)
{
    const uint32_t holder = holder_of(mutex);

    if (holder == 0)
        return rb_mutex_lock(mutex);
    binding_runtime->call_begin((const void *)(uintptr_t)place_of_program(), RIP_CALL_LOCK);
    binding_runtime->wait_begin(RTYPEDDATA_DATA(mutex), &holder, 0);
    return rb_ensure(rb_mutex_lock, mutex, end_wait, Qnil);
}

static VALUE mutex_synchronize(VALUE mutex)
{
    if (!rb_block_given_p())
        rb_raise(rb_eThreadError, "must be called with a block");
    mutex_lock(mutex);
    return rb_ensure(rb_yield, Qundef, rb_mutex_unlock, mutex);
}

void mutex_start(void)
{
    VALUE class = rb_path2class("Thread::Mutex");

    rb_define_method(class, "lock", mutex_lock, 0);
    rb_define_method(class, "synchronize", mutex_synchronize, 0);
}
