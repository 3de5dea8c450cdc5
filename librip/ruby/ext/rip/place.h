/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - finds the place of a thread in its script. A place is a line as rip_snap_at() takes it; 0 = none.
 *
 * The caller holds the GVL, unless a comment says otherwise.
 */
#ifndef RIP_RUBY_PLACE_H
#define RIP_RUBY_PLACE_H

#include "layout.h"

/* Starts to find places. Returns false if the layout of this Ruby is not known. */
bool place_start(void);
/* Returns true if the thread holds the main Ractor's GVL, which protects the binding's data. Callable without it. */
bool place_has_gvl(void);
/*
 * Returns the innermost place in the program's own code; if there is none, in a gem or in Ruby's library. The calling
 * thread runs Ruby code; the GVL is not needed. Async-signal-safe.
 */
uint64_t place_of_program(void);
/* The same for a fiber of this thread that waits to be resumed. Returns 0 for a fiber that has ended. */
uint64_t place_of_switched_out(const struct layout_context *context);
/* Call in a C method. Returns true if the thread runs only code of Ruby's library, such as a helper thread. */
bool place_is_in_library(void);
/* Call in a C method. Returns the place of its caller, or 0 if it is not known. */
uint64_t place_of_caller(void);
/* Returns the place of a method's first line, and enters the function as name. Returns 0 if it is not a Ruby method. */
uint64_t place_of_method(VALUE method, const char *name, size_t name_length);
/* Call when this thread of the main Ractor begins to run Ruby code. */
void place_thread_begun(void);

#endif
