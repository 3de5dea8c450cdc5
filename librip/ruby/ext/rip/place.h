/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - where a thread is in its script. With the GVL, but where it says otherwise. */
#ifndef RIP_RUBY_PLACE_H
#define RIP_RUBY_PLACE_H

#include "layout.h"

/* Starts to say where threads are, if this Ruby is known. */
bool place_start(void);
/* Whether the thread has the GVL of the main Ractor, by which the binding is guarded. */
bool place_has_gvl(void);
/* The innermost place of the program's own code, as rip_snap_at() takes it, or 0. On a thread that runs Ruby code,
 * without the GVL, too; safe in a signal handler. */
uint64_t place_of_program(void);
/* The same of a fiber of this thread that waits to be resumed; 0 of one that has ended, too. */
uint64_t place_of_switched_out(const struct layout_context *context);
/* Called by a method of C code: whether the thread is a helper of Ruby's own library, and runs nothing else. */
bool place_is_in_library(void);
/* The place that called the method of C code that runs now; 0 if that cannot be said. */
uint64_t place_of_caller(void);
/* The function of a method's first line, named name; 0 if the method is not in Ruby. */
uint64_t place_of_method(VALUE method, const char *name, size_t name_length);
/* This thread of the main Ractor runs Ruby code from now on. */
void place_thread_begun(void);

#endif
