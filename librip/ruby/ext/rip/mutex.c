/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mutex.c - marks waits for a Thread::Mutex or a Monitor, with the holder. A free mutex costs one additional call.
 *
 * Ruby waits for a mutex with a condition variable of the waiting thread, as it does for a queue. Only the methods
 * replaced here show that the wait is for a lock, and which thread holds it. Waiting threads and fibers are in a list,
 * which is protected by the GVL, like the mutexes.
 *
 * Guarantees
 *   A. A mark has RIP_WAIT_OWNER_LASTS only if the holder itself waits for a mutex, because it releases no mutex during
 *      that wait. Before a holder marks its next wait, it marks again all waiters with this flag (wait_start()). So no
 *      reader sees both the new wait and a flag from the old one.
 *   B. A thread that gets a mutex marks all remaining waiters again, because Ruby's unlock wakes only the first waiter.
 *   C. Only threads of the main Ractor are marked. The mutexes of other Ractors are not protected by this GVL.
 */
#include "mutex.h"
#include "binding.h"
#include "place.h"
#include "thread.h"

#include <pthread.h>
#include <ruby/fiber/scheduler.h>
#include <string.h>

/* struct rb_monitor of Ruby's extension monitor: a mutex that the fiber that holds it may take again. */
struct monitor {
    long count;
    VALUE owner;
    VALUE mutex;
};

static struct mutex_wait *waits; /* the newest first */
static const rb_data_type_t *monitor_type;
static VALUE never_interrupted; /* for Thread.handle_interrupt */

/* Marks ------------------------------------------------------------------------------------------------------------ */

/* Returns the id of the holder, or 0 if the lock is free. */
static uint32_t holder_of(const void *lock)
{
    const void *fiber = *(const void *const *)lock;

    return fiber == NULL ? 0 : thread_id_of(fiber);
}

static void mark(struct mutex_wait *wait, uint32_t holder, uint32_t flags)
{
    if (thread_id_is_fiber(holder))
        flags |= RIP_WAIT_OWNER_IS_ID;
    if (wait->holder == holder && wait->flags == flags)
        return; /* keep the mark, because its age is the age of the wait */
    wait->holder = holder;
    wait->flags = flags;
    binding_runtime->wait_begin_of(wait->slot, wait->lock, &holder, flags);
}

/* Call when this thread or fiber is about to wait for holder. It keeps all mutexes that it holds. */
static void wait_start(struct mutex_wait *wait, uint32_t holder)
{
    uint32_t flags = 0;

    for (struct mutex_wait *other = waits; other != NULL; other = other->next) {
        const uint32_t its_holder = holder_of(other->lock);

        if (its_holder == wait->id)
            mark(other, wait->id, RIP_WAIT_OWNER_LASTS);
        else if (other->holder == wait->id)
            mark(other, its_holder, 0);
        if (other->id == holder)
            flags = RIP_WAIT_OWNER_LASTS;
    }
    wait->next = waits;
    waits = wait;
    mark(wait, holder, flags);
}

/* Call when this thread or fiber has got the lock. */
static void mark_waiters(const void *lock)
{
    for (struct mutex_wait *other = waits; other != NULL; other = other->next) {
        if (other->lock == lock)
            mark(other, thread_id(), 0);
    }
}

void mutex_forget(struct mutex_wait *wait)
{
    struct mutex_wait **link = &waits;

    while (*link != NULL && *link != wait)
        link = &(*link)->next;
    if (*link != NULL) /* NULL in a child that was forked meanwhile */
        *link = wait->next;
}

static void end_wait(struct mutex_wait *wait)
{
    mutex_forget(wait);
    if (holder_of(wait->lock) == wait->id)
        mark_waiters(wait->lock);
    binding_runtime->wait_end();
}

static VALUE thread_wait_end(VALUE argument)
{
    end_wait((void *)argument);
    binding_runtime->call_end();
    return Qnil;
}

static VALUE fiber_wait_end(VALUE argument)
{
    struct mutex_wait *wait = (void *)argument;

    end_wait(wait);
    wait->lock = NULL;
    return Qnil;
}

/* If the scheduler left a breadcrumb on the fiber's id, that ended the mark. Marks the wait again. */
void mutex_switched_out(struct mutex_wait *wait)
{
    const uint32_t holder = holder_of(wait->lock);

    wait->slot = binding_runtime->current(); /* NULL in a forked child */
    if (wait->slot == NULL || rip_load_relaxed(&wait->slot->count) == wait->count)
        return;
    binding_runtime->snap_at((const void *)(uintptr_t)wait->place);
    wait->count = rip_load_relaxed(&wait->slot->count);
    wait->holder = 0;
    mark(wait, holder, 0);
}

static void no_waits_after_fork(void)
{
    waits = NULL; /* the waiters were threads of the parent */
}

/* Thread::Mutex ---------------------------------------------------------------------------------------------------- */

static VALUE wait_for_mutex(VALUE argument)
{
    return rb_mutex_lock(((struct mutex_wait *)(void *)argument)->mutex);
}

static VALUE wait_on_thread(const struct mutex_wait *waiting, uint32_t holder)
{
    struct mutex_wait wait = *waiting;

    binding_runtime->call_begin((const void *)(uintptr_t)place_of_program(), RIP_CALL_LOCK);
    wait.slot = binding_runtime->current();
    wait_start(&wait, holder);
    return rb_ensure(wait_for_mutex, (VALUE)&wait, thread_wait_end, (VALUE)&wait);
}

/*
 * The scheduler runs other fibers during the wait. So the call is not announced; it would apply to those fibers, too.
 * The wait is stored with the fiber, because the fiber's stack may be freed while it waits. If the scheduler itself
 * locks a mutex during this wait, that wait is not marked.
 */
static VALUE wait_by_scheduler(const struct mutex_wait *waiting, uint32_t holder)
{
    struct mutex_wait *wait = thread_fiber_wait();

    if (wait == NULL || wait->lock != NULL)
        return rb_mutex_lock(waiting->mutex);
    *wait = *waiting;
    wait->place = place_of_program();
    binding_runtime->snap_at((const void *)(uintptr_t)wait->place);
    wait->slot = binding_runtime->current();
    wait->count = wait->slot != NULL ? rip_load_relaxed(&wait->slot->count) : 0;
    wait_start(wait, holder);
    return rb_ensure(wait_for_mutex, (VALUE)wait, fiber_wait_end, (VALUE)wait);
}

static VALUE mutex_lock(VALUE mutex)
{
    struct mutex_wait wait = {.lock = RTYPEDDATA_DATA(mutex), .mutex = mutex};
    uint32_t holder;

    if (!place_has_gvl())
        return rb_mutex_lock(mutex);
    wait.id = thread_id();
    holder = holder_of(wait.lock);
    if (holder == 0 || holder == wait.id) {
        rb_mutex_lock(mutex); /* gets the mutex at once, or raises */
        mark_waiters(wait.lock);
        return mutex;
    }
    return NIL_P(rb_fiber_scheduler_current()) ? wait_on_thread(&wait, holder) : wait_by_scheduler(&wait, holder);
}

static VALUE lock_in_block(RB_BLOCK_CALL_FUNC_ARGLIST(unused, mutex))
{
    (void)unused;
    (void)argc;
    (void)argv;
    (void)blockarg;
    return mutex_lock(mutex);
}

static VALUE lock_uninterrupted(VALUE mutex)
{
    return rb_block_call(rb_cThread, rb_intern("handle_interrupt"), 1, &never_interrupted, lock_in_block, mutex);
}

/* Thread#kill, Thread#raise and exceptions of signal handlers are deferred until this thread has the mutex. */
static void relock(VALUE mutex)
{
    const void *lock = RTYPEDDATA_DATA(mutex);
    int state, raised = 0;

    if (RTEST(rb_mutex_trylock(mutex))) {
        mark_waiters(lock);
        return;
    }
    do {
        rb_protect(lock_uninterrupted, mutex, &state);
        if (state != 0)
            raised = state;
    } while (holder_of(lock) != thread_id());
    if (raised != 0)
        rb_jump_tag(raised);
}

struct sleep {
    VALUE mutex;
    VALUE own; /* the mutex that Ruby's sleep releases and locks again; no other thread uses it */
    VALUE timeout;
};

static VALUE sleep_in_own(VALUE argument)
{
    const struct sleep *sleep = (const void *)argument;

    return rb_mutex_sleep(sleep->own, sleep->timeout);
}

static VALUE sleep_end(VALUE argument)
{
    const struct sleep *sleep = (const void *)argument;

    rb_mutex_unlock(sleep->own);
    relock(sleep->mutex);
    return Qnil;
}

/*
 * Replaces Mutex#sleep, which condition variables use, too. Ruby's implementation locks the mutex again in a way that
 * cannot be intercepted. So this one sleeps with a mutex of its own.
 */
static VALUE mutex_sleep(int argc, VALUE *argv, VALUE mutex)
{
    struct sleep sleep = {.mutex = mutex, .timeout = argc > 0 ? argv[0] : Qnil};
    VALUE result;

    rb_check_arity(argc, 0, 1);
    if (!place_has_gvl() || !NIL_P(rb_fiber_scheduler_current()) ||
        (ruby_current_ec->interrupts_held & LAYOUT_SIGNALS) != 0)
        return rb_mutex_sleep(mutex, sleep.timeout);
    if (!NIL_P(sleep.timeout))
        rb_time_interval(sleep.timeout); /* a wrong timeout raises before the mutex is released */
    sleep.own = rb_mutex_new();
    rb_mutex_unlock(mutex);
    rb_mutex_lock(sleep.own);
    result = rb_ensure(sleep_in_own, (VALUE)&sleep, sleep_end, (VALUE)&sleep);
    rb_thread_check_ints();
    RB_GC_GUARD(sleep.own);
    return result;
}

static VALUE mutex_synchronize(VALUE mutex)
{
    if (!rb_block_given_p())
        rb_raise(rb_eThreadError, "must be called with a block");
    mutex_lock(mutex);
    return rb_ensure(rb_yield, Qundef, rb_mutex_unlock, mutex);
}

/* Monitor ---------------------------------------------------------------------------------------------------------- */

static VALUE monitor_enter(VALUE self)
{
    struct monitor *monitor = rb_check_typeddata(self, monitor_type);
    const VALUE fiber = rb_fiber_current();

    if (monitor->owner != fiber) {
        mutex_lock(monitor->mutex);
        RB_OBJ_WRITE(self, &monitor->owner, fiber);
        monitor->count = 0;
    }
    monitor->count++;
    return Qnil;
}

static VALUE monitor_exit(VALUE self)
{
    return rb_funcall(self, rb_intern("exit"), 0);
}

static VALUE monitor_synchronize(VALUE self)
{
    monitor_enter(self);
    return rb_ensure(rb_yield, Qundef, monitor_exit, self);
}

/* Returns true if monitors have the layout above. Checks a new monitor that is entered. */
static bool find_monitor_type(VALUE class)
{
    const VALUE sample = rb_class_new_instance(0, NULL, class);
    const struct monitor *monitor;
    bool is_known;

    if (!RB_TYPE_P(sample, T_DATA) || !RTYPEDDATA_P(sample) ||
        strcmp(RTYPEDDATA_TYPE(sample)->wrap_struct_name, "monitor") != 0)
        return false;
    monitor = RTYPEDDATA_DATA(sample);
    rb_funcall(sample, rb_intern("try_enter"), 0);
    is_known = monitor->count == 1 && monitor->owner == rb_fiber_current() &&
               RTEST(rb_obj_is_kind_of(monitor->mutex, rb_path2class("Thread::Mutex"))) &&
               holder_of(RTYPEDDATA_DATA(monitor->mutex)) == thread_id();
    monitor_exit(sample);
    monitor_type = RTYPEDDATA_TYPE(sample);
    return is_known;
}

static VALUE watch_monitors(VALUE class)
{
    if (monitor_type != NULL || !find_monitor_type(class))
        return Qnil;
    rb_define_method(class, "enter", monitor_enter, 0);
    rb_define_method(class, "mon_enter", monitor_enter, 0);
    rb_define_method(class, "synchronize", monitor_synchronize, 0);
    rb_define_method(class, "mon_synchronize", monitor_synchronize, 0);
    return Qnil;
}

void mutex_class_ended(VALUE name)
{
    VALUE *verbose = rb_ruby_verbose_ptr();
    const VALUE saved_verbose = *verbose;
    VALUE result;

    if (strcmp(StringValueCStr(name), "Monitor") != 0)
        return;
    *verbose = Qnil; /* as in start_hooks() */
    binding_protect(LAYOUT_INTERRUPTS, watch_monitors, rb_path2class("Monitor"), &result);
    *verbose = saved_verbose;
}

void mutex_start(void)
{
    VALUE class = rb_path2class("Thread::Mutex");

    never_interrupted = rb_hash_new();
    rb_hash_aset(never_interrupted, rb_cObject, ID2SYM(rb_intern("never")));
    rb_gc_register_mark_object(never_interrupted);
    pthread_atfork(NULL, NULL, no_waits_after_fork);
    rb_define_method(class, "lock", mutex_lock, 0);
    rb_define_method(class, "synchronize", mutex_synchronize, 0);
    rb_define_method(class, "sleep", mutex_sleep, -1);
    if (rb_const_defined(rb_cObject, rb_intern("Monitor")))
        mutex_class_ended(rb_str_new_cstr("Monitor"));
}
