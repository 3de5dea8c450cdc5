/* SPDX-License-Identifier: Apache-2.0 */
/*
 * without_gvl.c - the whole binding as an extension for ThreadSanitizer, which cannot be loaded before the preload
 * library. Rip.look(count) reads the thread's location without the GVL, as the preload library does before a wait.
 */
#include "binding.h"
#include "place.h"

#include <ruby/thread.h>

__attribute__((visibility("default"))) void Init_without_gvl(void);
void Init_rip(void);

static void *look(void *count)
{
    uint64_t found = 0;

    for (long i = *(const long *)count; i > 0; i--)
        found |= place_of_program();
    return found != 0 ? count : NULL;
}

static VALUE rip_s_look(VALUE module, VALUE count)
{
    long number = NUM2LONG(count);

    (void)module;
    return rb_thread_call_without_gvl(look, &number, NULL, NULL) != NULL ? Qtrue : Qfalse;
}

void Init_without_gvl(void)
{
    Init_rip();
    rb_define_singleton_method(binding_module(), "look", rip_s_look, 1);
}
