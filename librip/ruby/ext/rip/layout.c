/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - checks the layout of Ruby's structs with a script that is compiled and never run: see layout.h. */
#include "layout.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static VALUE first_child(RB_BLOCK_CALL_FUNC_ARGLIST(child, found))
{
    (void)argc;
    (void)argv;
    (void)blockarg;
    if (rb_ary_entry(found, 0) == Qnil)
        rb_ary_push(found, child);
    return Qnil;
}

static VALUE child_of(VALUE wrapper)
{
    const VALUE found = rb_ary_new();

    rb_block_call(wrapper, rb_intern("each_child"), 0, NULL, first_child, found);
    return rb_ary_entry(found, 0);
}

static bool has_label(const struct layout_iseq *iseq, VALUE wrapper, const char *label)
{
    return iseq->body->label == rb_funcall(wrapper, rb_intern("label"), 0) &&
           strcmp(RSTRING_PTR(iseq->body->label), label) == 0 &&
           iseq->body->first_line == rb_funcall(wrapper, rb_intern("first_lineno"), 0);
}

static bool check_iseqs(void)
{
    const VALUE script = rb_str_new_cstr("class RipLayout\n  def at\n    [].each { 1 }\n  end\nend\n");
    const VALUE compiler = rb_path2class("RubyVM::InstructionSequence");
    const VALUE top = rb_funcall(compiler, rb_intern("compile"), 1, script);
    const VALUE of_class = child_of(top);
    const VALUE of_method = NIL_P(of_class) ? Qnil : child_of(of_class);
    const VALUE of_block = NIL_P(of_method) ? Qnil : child_of(of_method);
    const struct layout_iseq *class_body, *method, *block;

    if (NIL_P(of_block))
        return false;
    class_body = rb_iseqw_to_iseq(of_class);
    method = rb_iseqw_to_iseq(of_method);
    block = rb_iseqw_to_iseq(of_block);
    return class_body->body->type == LAYOUT_CLASS && method->body->type == LAYOUT_METHOD &&
           block->body->type == LAYOUT_BLOCK && block->body->local == method &&
           has_label(class_body, of_class, "<class:RipLayout>") && has_label(method, of_method, "at") &&
           has_label(block, of_block, "block in at") && rb_iseq_line_no(block, 0) == 3;
}

static bool check_context(void)
{
    const struct layout_context *context = ruby_current_ec;
    const VALUE fiber = rb_fiber_current();
    const struct layout_frame *end;

    if (context == NULL || context->stack == NULL || context->thread == NULL || context->fiber == NULL)
        return false;
    end = (const struct layout_frame *)(const void *)(context->stack + context->stack_words);
    return (const VALUE *)context->frame > context->stack && context->frame <= end &&
           context->thread->self == rb_thread_current() && context->thread->tid == (uint32_t)syscall(SYS_gettid) &&
           (const char *)context > (const char *)context->fiber && layout_value_of_fiber(context->fiber) == fiber;
}

bool layout_check(void)
{
    return strcmp(ruby_version, "3.1.") > 0 && strncmp(ruby_version, "3.1.", 4) == 0 && check_context() &&
           check_iseqs();
}

uint32_t layout_tid_of_fiber(const void *fiber)
{
    /* The context has the same offset in the struct of every fiber. */
    const ptrdiff_t offset = (const char *)ruby_current_ec - (const char *)ruby_current_ec->fiber;
    const struct layout_context *context = (const void *)((const char *)fiber + offset);

    return context->thread->tid;
}

VALUE layout_value_of_fiber(const void *fiber)
{
    const struct {
        uint8_t reserved_0[16];
        VALUE self;
    } *begin = fiber;

    return begin->self;
}
