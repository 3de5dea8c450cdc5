/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tracepoint.c - Rip::Tracepoint: a static tracepoint of a Ruby program.
 *
 * Guarantees
 *   1. While the tracepoint is not enabled, fire calls no block and converts no value, and enabled? is one load.
 *   2. Enabling changes nothing for the program: no value raises an exception. Only a wrong number of arguments of fire
 *      raises, enabled or not.
 */
#include "binding.h"

#include <errno.h>
#include <rip/tracepoint.h>
#include <string.h>

/* Tracers show less: bpftrace shows 64 bytes by default, and 200 at most. */
enum { TEXT_BYTES = 256 };

struct tracepoint {
    struct rip_tracepoint *tracepoint; /* NULL = it could not be made, so it is never enabled */
    uint8_t types[RIP_TRACEPOINT_ARGUMENTS_MAX];
    unsigned count;
};

static const rb_data_type_t tracepoint_type = {
    .wrap_struct_name = "Rip::Tracepoint",
    .function = {.dfree = RUBY_DEFAULT_FREE},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static struct tracepoint *tracepoint_of(VALUE self)
{
    return rb_check_typeddata(self, &tracepoint_type);
}

static VALUE allocate(VALUE class)
{
    struct tracepoint *tracepoint;

    return TypedData_Make_Struct(class, struct tracepoint, &tracepoint_type, tracepoint);
}

static uint8_t type_of(VALUE class)
{
    if (class == rb_cInteger)
        return RIP_TRACEPOINT_INT64;
    if (class == rb_cFloat)
        return RIP_TRACEPOINT_DOUBLE;
    if (class != rb_cString)
        rb_raise(rb_eTypeError, "a type must be Integer, Float or String");
    return RIP_TRACEPOINT_STRING;
}

/*
 * Rip::Tracepoint.new(provider, name, type, ...)
 *
 * Makes a static tracepoint (USDT) with up to six values, each Integer, Float or String. A second object with the same
 * name and types is the same tracepoint. An Integer is reported modulo 2**64, a value of a wrong type as 0.
 */
static VALUE initialize(int argc, VALUE *argv, VALUE self)
{
    struct tracepoint *tracepoint = tracepoint_of(self);
    VALUE provider, name;
    int result;

    rb_check_arity(argc, 2, 2 + RIP_TRACEPOINT_ARGUMENTS_MAX);
    provider = rb_String(argv[0]);
    name = rb_String(argv[1]);
    for (tracepoint->count = 0; tracepoint->count < (unsigned)argc - 2; tracepoint->count++)
        tracepoint->types[tracepoint->count] = type_of(argv[tracepoint->count + 2]);
    result = rip_tracepoint_define(StringValueCStr(provider), StringValueCStr(name), tracepoint->types,
                                   tracepoint->count, &tracepoint->tracepoint);
    if (result == -EINVAL)
        rb_raise(rb_eArgError,
                 "%" PRIsVALUE ":%" PRIsVALUE
                 ": a name has letters, digits and _, no digit at its beginning, and at most %d characters",
                 provider, name, RIP_TRACEPOINT_NAME_MAX);
    if (result == -EEXIST)
        rb_raise(rb_eArgError, "%" PRIsVALUE ":%" PRIsVALUE " is already defined with other types", provider, name);
    return self;
}

/*
 * Rip::Tracepoint#enabled?
 *
 * Returns true while a tracer, such as bpftrace, gdb or perf, uses the tracepoint.
 */
static VALUE is_enabled(VALUE self)
{
    return rip_tracepoint_enabled(tracepoint_of(self)->tracepoint) ? Qtrue : Qfalse;
}

/* Returns the integer modulo 2**64. */
static uint64_t bits_of(VALUE integer)
{
    uint64_t bits = 0;

    if (FIXNUM_P(integer))
        bits = (uint64_t)FIX2LONG(integer);
    else
        rb_integer_pack(integer, &bits, 1, sizeof(bits), 0,
                        INTEGER_PACK_LSWORD_FIRST | INTEGER_PACK_NATIVE_BYTE_ORDER | INTEGER_PACK_2COMP);
    return bits;
}

/* A value of another type becomes 0. A string is copied to text, because Ruby's strings need not be terminated. */
static union rip_tracepoint_value value_of(VALUE object, uint8_t type, char *text)
{
    union rip_tracepoint_value value = {.uint64 = 0};
    size_t bytes;

    if (type == RIP_TRACEPOINT_STRING && SYMBOL_P(object))
        object = rb_sym2str(object);
    if (type == RIP_TRACEPOINT_STRING && RB_TYPE_P(object, T_STRING)) {
        bytes = (size_t)RSTRING_LEN(object) < TEXT_BYTES ? (size_t)RSTRING_LEN(object) : TEXT_BYTES - 1;
        memcpy(text, RSTRING_PTR(object), bytes);
        text[bytes] = '\0';
        value.string = text;
    } else if (type == RIP_TRACEPOINT_DOUBLE && RB_FLOAT_TYPE_P(object)) {
        value.real = RFLOAT_VALUE(object);
    } else if (type == RIP_TRACEPOINT_DOUBLE && RB_INTEGER_TYPE_P(object)) {
        value.real = FIXNUM_P(object) ? (double)FIX2LONG(object) : rb_big2dbl(object);
    } else if (type == RIP_TRACEPOINT_INT64 && RB_INTEGER_TYPE_P(object)) {
        value.uint64 = bits_of(object);
    }
    return value;
}

static void show(const struct tracepoint *tracepoint, const VALUE *objects, long count)
{
    union rip_tracepoint_value values[RIP_TRACEPOINT_ARGUMENTS_MAX];
    char texts[RIP_TRACEPOINT_ARGUMENTS_MAX][TEXT_BYTES];

    for (unsigned i = 0; i < tracepoint->count; i++)
        values[i] = value_of(i < count ? objects[i] : Qnil, tracepoint->types[i], texts[i]);
    rip_tracepoint_fire(tracepoint->tracepoint, values);
}

/*
 * Rip::Tracepoint#fire(value, ...)
 * Rip::Tracepoint#fire { [value, ...] }
 *
 * Reports the values, or the values that the block returns. The block runs only while the tracepoint is enabled.
 */
static VALUE fire(int argc, VALUE *argv, VALUE self)
{
    const struct tracepoint *tracepoint = tracepoint_of(self);
    VALUE made;

    if (!rb_block_given_p())
        rb_check_arity(argc, (int)tracepoint->count, (int)tracepoint->count);
    if (!rip_tracepoint_enabled(tracepoint->tracepoint))
        return Qnil;
    if (!rb_block_given_p()) {
        show(tracepoint, argv, argc);
        return Qnil;
    }
    made = rb_Array(rb_yield(Qundef));
    show(tracepoint, RARRAY_CONST_PTR(made), RARRAY_LEN(made));
    RB_GC_GUARD(made);
    return Qnil;
}

void tracepoint_define(VALUE module)
{
    const VALUE class = rb_define_class_under(module, "Tracepoint", rb_cObject);

    rb_define_alloc_func(class, allocate);
    rb_define_method(class, "initialize", initialize, -1);
    rb_define_method(class, "enabled?", is_enabled, 0);
    rb_define_method(class, "fire", fire, -1);
}
