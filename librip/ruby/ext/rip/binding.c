/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.c - starts the binding in a process: by `require "rip"`, or under `rip run` before the program's code runs.
 * In the second case the module has no name until the program requires it.
 */
#include "binding.h"
#include "mutex.h"
#include "place.h"
#include "thread.h"

#include <stdio.h>

#define BINDING_API __attribute__((visibility("default")))

BINDING_API void Init_rip(void);
BINDING_API void rip_ruby_start(void);

const struct rip_runtime *binding_runtime;

static void warn_of_version(void)
{
    fprintf(stderr, "rip: Ruby %s is not supported: breadcrumbs show the interpreter's code, not script lines\n",
            ruby_version);
}

static bool is_own_descriptor(int fd)
{
    return rb_reserved_fd_p(fd) != 0;
}

/* Replaces methods of Ruby. Warnings are off meanwhile, so that the program gets none even with -w. */
static void start_hooks(void)
{
    VALUE *verbose = rb_ruby_verbose_ptr();
    const VALUE saved_verbose = *verbose;

    *verbose = Qnil;
    binding_runtime->set_own_descriptors(is_own_descriptor);
    if (place_start()) {
        class_start();
        thread_start();
        mutex_start();
    } else {
        warn_of_version();
    }
    *verbose = saved_verbose;
}

bool binding_protect(uint32_t held, VALUE (*run)(VALUE), VALUE argument, VALUE *ret_result)
{
    struct layout_context *context = ruby_current_ec;
    const uint32_t saved_held = context->interrupts_held;
    int state;

    context->interrupts_held |= held;
    *ret_result = rb_protect(run, argument, &state);
    context->interrupts_held = saved_held;
    if (state != 0)
        rb_set_errinfo(Qnil);
    return state == 0;
}

VALUE binding_module(void)
{
    const ID hidden = rb_intern("__rip_module__"); /* a program cannot access it, because it does not begin with @ */
    VALUE module;

    if (rb_ivar_defined(rb_mKernel, hidden))
        return rb_ivar_get(rb_mKernel, hidden);
    binding_runtime = rip_runtime_get();
    module = rb_module_new();
    rb_ivar_set(rb_mKernel, hidden, module);
    rb_ext_ractor_safe(true); /* the replaced methods could be called in any Ractor, so the replacements must be, too */
    start_hooks();
    api_define(module);
    tracepoint_define(module);
    rb_ext_ractor_safe(false); /* the table of trace.c belongs to the main Ractor */
    trace_define(module);
    rb_ext_ractor_safe(true);
    return module;
}

void Init_rip(void)
{
    const VALUE module = binding_module();

    web_define(module);
    if (!rb_const_defined(rb_cObject, rb_intern("Rip")))
        rb_define_const(rb_cObject, "Rip", module);
}

static VALUE start(VALUE unused)
{
    binding_module();
    return unused;
}

void rip_ruby_start(void)
{
    int state = 0;

    rb_protect(start, Qnil, &state);
    if (state == 0)
        return;
    rb_set_errinfo(Qnil);
    fprintf(stderr, "rip: cannot start the Ruby binding: breadcrumbs show the interpreter's code, not script lines\n");
}
