/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace.c - Rip.trace: leaves a breadcrumb at each call of a method, by a tracepoint on that method only.
 *
 * The interpreter rewrites the method's first instruction when the tracepoint is enabled, and restores it when it is
 * disabled. So other methods cost nothing.
 */
#include "binding.h"
#include "place.h"

static VALUE traced; /* { [class, name] => tracepoint } */

static void on_call(VALUE tracepoint, void *place)
{
    (void)tracepoint;
    binding_runtime->snap_at(place);
}

/* Returns the method object. *ret_label is "Order#place" or "Order.find". */
static VALUE find_method(VALUE owner, VALUE name, VALUE *ret_label)
{
    const bool is_singleton = !RB_TYPE_P(owner, T_CLASS) && !RB_TYPE_P(owner, T_MODULE);
    const VALUE class = rb_obj_is_kind_of(owner, rb_cModule) ? owner : CLASS_OF(owner);
    bool is_instance = !is_singleton && RTEST(rb_funcall(class, rb_intern("method_defined?"), 1, name));

    if (!is_singleton && !is_instance)
        is_instance = RTEST(rb_funcall(class, rb_intern("private_method_defined?"), 1, name));
    *ret_label =
        rb_sprintf("%" PRIsVALUE "%s%" PRIsVALUE, rb_class_name(class), is_instance || is_singleton ? "#" : ".", name);
    return is_instance ? rb_funcall(class, rb_intern("instance_method"), 1, name)
                       : rb_funcall(owner, rb_intern("method"), 1, name);
}

static VALUE read_owner(VALUE options)
{
    static ID of;
    VALUE owner;

    if (of == 0)
        of = rb_intern("of");
    rb_get_kwargs(options, &of, 1, 0, &owner);
    return owner;
}

static VALUE key_of(VALUE name, VALUE owner)
{
    return rb_ary_new_from_args(2, owner, rb_to_symbol(name));
}

/*
 * Rip.trace(:method, of: Klass)
 *
 * From now on each call of the method leaves a breadcrumb with the method's file, line and name. The method is an
 * instance method of Klass; if there is none, a singleton method. Raises ArgumentError if the method is not written in
 * Ruby. Does nothing if the method is already traced.
 */
static VALUE rip_s_trace(int argc, VALUE *argv, VALUE module)
{
    VALUE name, options, owner, key, label, method, tracepoint, target;
    uint64_t place;

    (void)module;
    (rb_scan_args)(argc, argv, "1:", &name, &options);
    owner = read_owner(NIL_P(options) ? rb_hash_new() : options);
    key = key_of(name, owner);
    if (!NIL_P(rb_hash_lookup(traced, key)))
        return Qnil;
    method = find_method(owner, name, &label);
    place = place_of_method(method, RSTRING_PTR(label), (size_t)RSTRING_LEN(label));
    tracepoint = rb_tracepoint_new(0, RUBY_EVENT_CALL, on_call, (void *)(uintptr_t)place);
    target = rb_hash_new();
    rb_hash_aset(target, ID2SYM(rb_intern("target")), method);
    rb_funcallv_kw(tracepoint, rb_intern("enable"), 1, &target, RB_PASS_KEYWORDS);
    rb_hash_aset(traced, key, tracepoint);
    return Qnil;
}

/*
 * Rip.untrace(:method, of: Klass)
 *
 * Ends the breadcrumbs of Rip.trace. Calls of the method cost what they did before.
 */
static VALUE rip_s_untrace(int argc, VALUE *argv, VALUE module)
{
    VALUE name, options, tracepoint;

    (void)module;
    (rb_scan_args)(argc, argv, "1:", &name, &options);
    tracepoint = rb_hash_delete(traced, key_of(name, read_owner(NIL_P(options) ? rb_hash_new() : options)));
    if (!NIL_P(tracepoint))
        rb_tracepoint_disable(tracepoint);
    return Qnil;
}

void trace_define(VALUE module)
{
    traced = rb_hash_new();
    rb_gc_register_mark_object(traced);
    rb_define_singleton_method(module, "trace", rip_s_trace, -1);
    rb_define_singleton_method(module, "untrace", rip_s_untrace, -1);
}
