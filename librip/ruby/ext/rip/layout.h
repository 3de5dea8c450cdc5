/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - the fields of Ruby 3.1's internal structs that the binding reads. The offsets are those of Debian's
 * rb_mjit_min_header-3.1.7.h. layout_check() compares fields with known values before any other code reads them.
 *
 * Ruby's public functions for this need the GVL, allocate memory, or both. A breadcrumb must be made without either.
 */
#ifndef RIP_RUBY_LAYOUT_H
#define RIP_RUBY_LAYOUT_H

#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/version.h>
#include <stdbool.h>
#include <stdint.h>

/* enum iseq_type */
enum {
    LAYOUT_METHOD = 1,
    LAYOUT_BLOCK = 2,
    LAYOUT_CLASS = 3,
};

/*
 * Flags of layout_context.interrupts: all interrupts, except the stop of all Ractors. While signals are held, a thread
 * cannot wait for a mutex.
 */
enum {
    LAYOUT_INTERRUPTS = 0x1f,
    LAYOUT_SIGNALS = 0x08,
    LAYOUT_NO_SIGNALS = LAYOUT_INTERRUPTS & ~LAYOUT_SIGNALS,
};

enum {
    LAYOUT_FRAME_IS_C = 0x80, /* VM_FRAME_FLAG_CFRAME, in ep[0] */
    LAYOUT_IS_LOCAL = 0x02,   /* VM_ENV_FLAG_LOCAL: the environment of a method, not of a block in it */
    LAYOUT_VARIABLES = 2,     /* imemo_svar */
    LAYOUT_METHOD_ENTRY = 6,  /* imemo_ment */
};

struct layout_body {
    uint32_t type;
    uint32_t size_words;
    const VALUE *code;
    uint8_t reserved_16[48];
    VALUE path;
    VALUE base_label;
    VALUE label;
    VALUE first_line;
    uint8_t reserved_96[80];
    const struct layout_iseq *local; /* of a block: the method around it; else the iseq itself */
};

struct layout_iseq {
    VALUE flags;
    VALUE wrapper;
    const struct layout_body *body;
};

struct layout_entry { /* a method in a class */
    VALUE flags;
    VALUE reserved_8[3];
    VALUE owner;
};

struct layout_class {
    VALUE flags;
    VALUE reserved_8[2];
    const void *extension;
};

struct layout_frame {
    const VALUE *pc;
    VALUE *sp;
    const struct layout_iseq *iseq;
    VALUE self;
    const VALUE *ep;
    void *reserved_40[3];
};

struct layout_thread {
    uint8_t reserved_0[16];
    VALUE self;
    uint8_t reserved_24[64];
    uint32_t tid;
    uint8_t reserved_92[236];
    const void *root_fiber;
};

struct layout_context { /* the execution context of a fiber, inside the fiber's struct */
    VALUE *stack;
    size_t stack_words;
    const struct layout_frame *frame; /* the innermost; callers are at higher addresses */
    void *reserved_24;
    uint32_t interrupts;      /* RUBY_VM_CHECK_INTS() handles the interrupts in this word */
    uint32_t interrupts_held; /* except those in this word */
    const void *fiber;
    const struct layout_thread *thread;
};

_Static_assert(offsetof(struct layout_body, path) == 64 && offsetof(struct layout_body, local) == 176, "iseq body");
_Static_assert(sizeof(struct layout_frame) == 64 && offsetof(struct layout_frame, ep) == 32, "control frame");
_Static_assert(offsetof(struct layout_thread, tid) == 88 && offsetof(struct layout_thread, root_fiber) == 328,
               "thread");
_Static_assert(offsetof(struct layout_context, interrupts_held) == 36 && offsetof(struct layout_context, thread) == 48,
               "execution context");

/* Exported by libruby, but not declared in a public header. */
extern __thread struct layout_context *ruby_current_ec; /* NULL on a thread that Ruby did not create */
extern VALUE rb_iseq_path(const struct layout_iseq *iseq);
extern unsigned int rb_iseq_line_no(const struct layout_iseq *iseq, size_t position);
extern const struct layout_iseq *rb_iseqw_to_iseq(VALUE wrapper);

/* Returns true if object is an internal object of Ruby (imemo) of this kind. */
static inline bool layout_is(VALUE object, unsigned int kind)
{
    return object != Qfalse && RB_BUILTIN_TYPE(object) == RUBY_T_IMEMO &&
           (RBASIC(object)->flags >> RUBY_FL_USHIFT & 15) == kind;
}

/* Returns true if this process's Ruby has the structs above. Caller holds the GVL. May raise any exception of Ruby. */
bool layout_check(void);
/* Returns the tid of the thread that the fiber belongs to. fiber is Ruby's struct. Caller holds the GVL. */
uint32_t layout_tid_of_fiber(const void *fiber);
/* Returns the Fiber object, or 0 for the root fiber of a thread if the program has never requested the object. */
VALUE layout_value_of_fiber(const void *fiber);

#endif
