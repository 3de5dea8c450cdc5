/* SPDX-License-Identifier: Apache-2.0 */
/* api.c - Rip.snap, note, idle, deadline_ms, start and traced?. Only wrong arguments raise. */
#include "binding.h"
#include "note.h"
#include "place.h"
#include "thread.h"

#include <string.h>

static const void *caller(void)
{
    const uint64_t place = place_of_caller();

    return place == 0 ? __builtin_return_address(0) : (const void *)(uintptr_t)place;
}

/*
 * Rip.snap
 *
 * Leaves a breadcrumb at the caller's file, line and method.
 */
static VALUE rip_s_snap(VALUE module)
{
    (void)module;
    binding_runtime->snap_at(caller());
    return Qnil;
}

/* Notes ------------------------------------------------------------------------------------------------------------ */

void note_set(const char *text, size_t bytes)
{
    struct note *note = thread_note();

    if (bytes == 0 && note->bytes == 0)
        return;
    note->bytes = bytes > sizeof(note->text) ? sizeof(note->text) : bytes;
    if (note->bytes != 0)
        memcpy(note->text, text, note->bytes);
    binding_runtime->note(note->text, note->bytes);
}

static VALUE note_restore(VALUE before)
{
    const struct note *note = (const void *)before;

    note_set(note->text, note->bytes);
    return Qnil;
}

/*
 * Rip.note -> text or nil
 * Rip.note(text)
 * Rip.note(text) { ... }
 *
 * Describes what this thread or fiber is doing, such as "GET /orders". The first 127 bytes are shown with a stall. nil
 * removes the note. With a block, the note is set while the block runs; then the previous note is restored. Without
 * arguments, returns the present note.
 */
static VALUE rip_s_note(int argc, VALUE *argv, VALUE module)
{
    const struct note before = *thread_note();

    (void)module;
    rb_check_arity(argc, 0, 1);
    if (argc == 0)
        return before.bytes == 0 ? Qnil : rb_utf8_str_new(before.text, (long)before.bytes);
    if (NIL_P(argv[0])) {
        note_set(NULL, 0);
    } else {
        StringValue(argv[0]);
        note_set(RSTRING_PTR(argv[0]), (size_t)RSTRING_LEN(argv[0]));
    }
    return rb_block_given_p() ? rb_ensure(rb_yield, Qundef, note_restore, (VALUE)&before) : Qnil;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static VALUE idle_end(VALUE unused)
{
    binding_runtime->call_end();
    return unused;
}

/*
 * Rip.idle
 * Rip.idle { ... }
 *
 * Declares that this thread waits for work, which is not a stall: until its next breadcrumb, or while the block runs.
 */
static VALUE rip_s_idle(VALUE module)
{
    (void)module;
    if (!rb_block_given_p()) {
        binding_runtime->idle();
        return Qnil;
    }
    binding_runtime->call_begin(caller(), RIP_CALL_WORK);
    return rb_ensure(rb_yield, Qundef, idle_end, Qnil);
}

/*
 * Rip.deadline_ms(ms)
 *
 * Sets how long this thread or fiber may leave no breadcrumb before it is stalled. 0 restores ripd's --stall-after.
 */
static VALUE rip_s_deadline_ms(VALUE module, VALUE ms)
{
    (void)module;
    binding_runtime->deadline_ms(NUM2UINT(ms));
    return Qnil;
}

/*
 * Rip.start(file = nil, max_ids: 0)
 *
 * Makes the process's ring with room for max_ids threads and fibers at once (0 = the kernel's pid_max), and
 * registers this thread. The default of file is /dev/shm/ruby.PID. Under `rip run` the process has a ring already, and
 * this does nothing. Returns true if the process has a ring, false if the ring cannot be made.
 */
static VALUE rip_s_start(int argc, VALUE *argv, VALUE module)
{
    static ID keyword;
    VALUE file, options, max_ids = Qundef;
    bool made;

    if (keyword == 0)
        keyword = rb_intern("max_ids");
    (rb_scan_args)(argc, argv, "01:", &file, &options);
    if (!NIL_P(options))
        rb_get_kwargs(options, &keyword, 0, 1, &max_ids);
    if (NIL_P(file))
        file = rb_sprintf("/dev/shm/ruby.%d", (int)getpid());
    made = binding_runtime->create_ring(StringValueCStr(file), max_ids == Qundef ? 0 : NUM2UINT(max_ids));
    if (made && !binding_runtime->is_traced())
        binding_runtime->init(0, "main", 4, 0, 0);
    (void)module;
    return made ? Qtrue : Qfalse;
}

/*
 * Rip.traced?
 *
 * Returns true if this thread or fiber has an id in the ring.
 */
static VALUE rip_s_is_traced(VALUE module)
{
    (void)module;
    return binding_runtime->is_traced() ? Qtrue : Qfalse;
}

void api_define(VALUE module)
{
    rb_define_singleton_method(module, "snap", rip_s_snap, 0);
    rb_define_singleton_method(module, "note", rip_s_note, -1);
    rb_define_singleton_method(module, "idle", rip_s_idle, 0);
    rb_define_singleton_method(module, "deadline_ms", rip_s_deadline_ms, 1);
    rb_define_singleton_method(module, "start", rip_s_start, -1);
    rb_define_singleton_method(module, "traced?", rip_s_is_traced, 0);
}
