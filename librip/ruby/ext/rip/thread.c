/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - gives threads their Ruby names, announces their sleeps, and makes fibers ids of their own.
 *
 * Threads and fibers are followed by events of the interpreter, so there is no cost between events. A fiber that is
 * switched out waits to be resumed: its id is idle, and its place is the call that switched.
 */
#include "thread.h"
#include "binding.h"
#include "mutex.h"
#include "note.h"
#include "place.h"

#include <pthread.h>
#include <ruby/fiber/scheduler.h>
#include <string.h>
#include <time.h>

enum {
    FIRST_FIBER = 1 << 30, /* first id of a fiber, larger than any tid */
    NAME_BYTES = 63,       /* length of names in the ring */
};

/*
 * A fiber with an id. It is stored in an instance variable of the Fiber object. A program cannot access this variable,
 * because its name does not begin with @.
 */
struct fiber {
    struct rip_context context;
    struct note note;
    struct mutex_wait wait; /* made by a scheduler */
    bool is_running;
};

static __thread struct rip_context own_context; /* of the thread's id, while a fiber runs on the thread */
static __thread struct note own_note;
static __thread struct fiber *running;                         /* NULL = the thread's root fiber */
static __thread const struct layout_context *own_ruby_context; /* Ruby's context of running; NULL = not known */
static __thread uint32_t own_number; /* of this thread, counted over all threads; makes names unique */
static __thread struct {
    char text[NAME_BYTES];
    uint8_t bytes;
} own_name; /* of the thread, for a child that it may fork */
static uint32_t thread_count, fiber_count;
static ID hidden_fiber;
static VALUE original_set_name, original_thread_to_s, original_fiber_to_s;

static void fiber_free(void *memory)
{
    struct fiber *fiber = memory;

    mutex_forget(&fiber->wait);
    if (!fiber->is_running)
        binding_runtime->context_exit(&fiber->context);
    ruby_xfree(fiber);
}

static const rb_data_type_t fiber_type = {
    .wrap_struct_name = "rip/fiber", .function = {.dfree = fiber_free}, .flags = RUBY_TYPED_FREE_IMMEDIATELY};

static VALUE call_unbound(VALUE method, VALUE self, int argc, const VALUE *argv)
{
    VALUE arguments[2] = {self, argc > 0 ? argv[0] : Qnil};

    return rb_funcallv(method, rb_intern("bind_call"), argc + 1, arguments);
}

/*
 * Makes "app.rb:12 #3" from "#<Thread:0x00007f1e app.rb:12 run>" and the number 3. Returns its length, or 0 if the text
 * has no place.
 */
static size_t name_by_place(VALUE text, uint32_t number, char ret_name[NAME_BYTES])
{
    const char *begin = RSTRING_PTR(text), *end = RSTRING_END(text);
    char ending[16];
    const long ending_bytes = snprintf(ending, sizeof(ending), " #%u", number);

    begin = memchr(begin, ' ', (size_t)(end - begin));
    end = begin == NULL ? NULL : memrchr(begin, ' ', (size_t)(end - begin));
    if (end == NULL || ++begin >= end)
        return 0;
    if (end - begin > NAME_BYTES - ending_bytes)
        begin = end - (NAME_BYTES - ending_bytes);
    memcpy(ret_name, begin, (size_t)(end - begin));
    memcpy(ret_name + (end - begin), ending, (size_t)ending_bytes);
    return (size_t)(end - begin + ending_bytes);
}

struct note *thread_note(void)
{
    return running == NULL ? &own_note : &running->note;
}

struct mutex_wait *thread_fiber_wait(void)
{
    return running == NULL ? NULL : &running->wait;
}

bool thread_id_is_fiber(uint32_t id)
{
    return id >= FIRST_FIBER;
}

/* The same as thread_id_of() of the running fiber, but faster, because it is called for each lock of a mutex. */
uint32_t thread_id(void)
{
    return running != NULL && running->context.id != 0 ? running->context.id : ruby_current_ec->thread->tid;
}

uint32_t thread_id_of(const void *ruby_fiber)
{
    const VALUE self = layout_value_of_fiber(ruby_fiber);
    const VALUE holder = self != 0 ? rb_attr_get(self, hidden_fiber) : Qnil;
    const struct fiber *fiber = NIL_P(holder) ? NULL : rb_check_typeddata(holder, &fiber_type);

    return fiber != NULL && fiber->context.id != 0 ? fiber->context.id : layout_tid_of_fiber(ruby_fiber);
}

/* Threads ---------------------------------------------------------------------------------------------------------- */

static void rename_own(const char *text, size_t bytes)
{
    own_name.bytes = (uint8_t)(bytes < NAME_BYTES ? bytes : NAME_BYTES);
    memcpy(own_name.text, text, own_name.bytes);
    binding_runtime->rename(text, bytes);
}

static void rename_thread(VALUE thread)
{
    const VALUE name = rb_funcall(thread, rb_intern("name"), 0);
    char text[NAME_BYTES];
    size_t bytes;

    if (RB_TYPE_P(name, T_STRING)) {
        rename_own(RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
        return;
    }
    bytes = name_by_place(call_unbound(original_thread_to_s, thread, 0, NULL), own_number, text);
    if (bytes != 0)
        rename_own(text, bytes);
}

/* Runs in a forked child. Its one thread has a new id, named after the program: restores the name of the thread. */
static void name_after_fork(void)
{
    if (running == NULL && own_name.bytes != 0)
        binding_runtime->rename(own_name.text, own_name.bytes);
}

static VALUE thread_set_name(VALUE thread, VALUE name)
{
    const VALUE result = call_unbound(original_set_name, thread, 1, &name);

    if (thread == rb_thread_current() && running == NULL)
        rename_thread(thread);
    return result;
}

static VALUE thread_begun(VALUE thread)
{
    if ((binding_runtime->flags & RIP_RUNTIME_PRELOAD) == 0)
        binding_runtime->init(0, "", 0, 0, 0);
    rename_thread(thread);
    return Qnil;
}

static void on_thread(rb_event_flag_t event, VALUE data, VALUE self, ID id, VALUE class)
{
    VALUE result;

    (void)data;
    (void)self;
    (void)id;
    (void)class;
    if (event == RUBY_EVENT_THREAD_BEGIN) {
        place_thread_begun();
        own_number = rip_add_relaxed(&thread_count, 1) + 1;
        running = NULL;
        own_ruby_context = ruby_current_ec;
        note_set(NULL, 0); /* Ruby reuses native threads: the note may be that of a thread that was killed */
        binding_protect(LAYOUT_INTERRUPTS, thread_begun, rb_thread_current(), &result);
        return;
    }
    note_set(NULL, 0);
    if ((binding_runtime->flags & RIP_RUNTIME_PRELOAD) == 0)
        binding_runtime->exit();
}

/* Sleeps ----------------------------------------------------------------------------------------------------------- */

static VALUE wait_for_time(VALUE seconds)
{
    rb_thread_wait_for(rb_time_interval(seconds));
    return Qnil;
}

static VALUE sleep_end(VALUE unused)
{
    binding_runtime->call_end();
    return unused;
}

/*
 * Replaces Kernel#sleep. Ruby sleeps with a condition variable, or polls its own descriptor, so only this function
 * knows that the wait is a sleep. The sleep of a Timeout's helper thread is not announced, because the program has not
 * requested it.
 */
static VALUE kernel_sleep(int argc, VALUE *argv, VALUE self)
{
    const time_t start = time(NULL);
    const VALUE scheduler = rb_fiber_scheduler_current();

    (void)self;
    if (!NIL_P(scheduler)) {
        rb_fiber_scheduler_kernel_sleepv(scheduler, argc, argv);
    } else if (argc == 0) {
        rb_thread_sleep_forever();
    } else {
        rb_check_arity(argc, 0, 1);
        if (place_has_gvl() && !place_is_in_library()) {
            binding_runtime->call_begin((const void *)(uintptr_t)place_of_program(), RIP_CALL_SLEEP);
            rb_ensure(wait_for_time, argv[0], sleep_end, Qnil);
        } else {
            wait_for_time(argv[0]);
        }
    }
    return TIMET2NUM(time(NULL) - start);
}

/* Fibers ----------------------------------------------------------------------------------------------------------- */

static VALUE fiber_new(VALUE fiber)
{
    struct fiber *made;
    const VALUE holder = TypedData_Make_Struct(rb_cObject, struct fiber, &fiber_type, made);
    char name[NAME_BYTES];
    const uint32_t number = rip_add_relaxed(&fiber_count, 1);
    size_t bytes = name_by_place(call_unbound(original_fiber_to_s, fiber, 0, NULL), number + 1, name);

    if (bytes == 0) /* the fiber of an Enumerator has no place */
        bytes = (size_t)snprintf(name, sizeof(name), "fiber #%u", number + 1);
    binding_runtime->context_init(&made->context, FIRST_FIBER + number, name, bytes);
    rb_ivar_set(fiber, hidden_fiber, holder); /* raises if the fiber is frozen: then it runs under its thread's id */
    return holder;
}

/* Returns the running fiber, and makes it if necessary. Returns NULL for a root fiber, or if it cannot be made. */
static struct fiber *find_fiber(void)
{
    VALUE fiber, holder;

    if (ruby_current_ec->fiber == ruby_current_ec->thread->root_fiber)
        return NULL;
    fiber = rb_fiber_current();
    if (rb_ivar_defined(fiber, hidden_fiber))
        holder = rb_ivar_get(fiber, hidden_fiber);
    else if (!binding_protect(LAYOUT_INTERRUPTS, fiber_new, fiber, &holder))
        return NULL;
    return rb_check_typeddata(holder, &fiber_type);
}

static void on_fiber_switch(rb_event_flag_t event, VALUE data, VALUE self, ID id, VALUE class)
{
    struct fiber *from = running, *to;
    uint64_t place = 0;

    (void)event;
    (void)data;
    (void)self;
    (void)id;
    (void)class;
    if (own_ruby_context != NULL)
        place = place_of_switched_out(own_ruby_context); /* valid even if the fiber has ended: it is not freed yet */
    own_ruby_context = ruby_current_ec;
    to = find_fiber();
    if (from == to)
        return;
    if (from != NULL && from->wait.lock != NULL) {
        mutex_switched_out(&from->wait);
    } else {
        if (place != 0)
            binding_runtime->snap_at((const void *)(uintptr_t)place);
        binding_runtime->idle(); /* until the fiber is resumed and leaves a breadcrumb */
    }
    binding_runtime->context_switch(from == NULL ? &own_context : &from->context,
                                    to == NULL ? &own_context : &to->context);
    if (from != NULL)
        from->is_running = false;
    if (to != NULL)
        to->is_running = true;
    running = to;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static VALUE unbound(VALUE class, const char *name)
{
    const VALUE method = rb_funcall(class, rb_intern("instance_method"), 1, ID2SYM(rb_intern(name)));

    rb_gc_register_mark_object(method);
    return method;
}

void thread_start(void)
{
    hidden_fiber = rb_intern("__rip_fiber__");
    original_set_name = unbound(rb_cThread, "name=");
    original_thread_to_s = unbound(rb_cThread, "to_s");
    original_fiber_to_s = unbound(rb_path2class("Fiber"), "to_s");
    rb_define_method(rb_cThread, "name=", thread_set_name, 1);
    rb_define_module_function(rb_mKernel, "sleep", kernel_sleep, -1);
    rb_add_event_hook(on_thread, RUBY_EVENT_THREAD_BEGIN | RUBY_EVENT_THREAD_END, Qnil);
    rb_add_event_hook(on_fiber_switch, RUBY_EVENT_FIBER_SWITCH, Qnil);
    place_thread_begun();
    own_ruby_context = ruby_current_ec;
    if (rb_thread_current() == rb_thread_main())
        rename_own("main", 4);
    pthread_atfork(NULL, NULL, name_after_fork);
}
