/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h - the parts of the Ruby binding, and what they share.
 *
 * All functions are called with the GVL, except where they say so. What the program does goes on whatever fails here.
 */
#ifndef RIP_RUBY_BINDING_H
#define RIP_RUBY_BINDING_H

#include "layout.h"

#include <rip/runtime.h>

extern const struct rip_runtime *binding_runtime; /* never NULL once there is a module */

/*
 * The module Rip, made at the first call, with the hooks that go with it. It has no name until a constant is it, and a
 * second copy of this library finds that of the first. Raises what Ruby raises.
 */
VALUE binding_module(void);

/* class.c: names of classes */
void class_start(void);
void class_names_renew(void); /* classes have moved in memory */
/* Bytes of the name that were written; 0 = not known. Without the GVL, too. */
size_t class_name(VALUE class, char *ret_text, size_t size_bytes);

/* place.c: where a thread is */

/* Starts to say where threads are, if this Ruby is known. */
bool place_start(void);
/* The innermost place of the program's own code, as rip_snap_at() takes it, or 0. Without the GVL, too; safe in a
 * signal handler. */
uint64_t place_of_program(void);
/* The place that called the method of C code that runs now; 0 if that cannot be said. */
uint64_t place_of_caller(void);
/* The function of a method's first line, named name; 0 if the method is not in Ruby. */
uint64_t place_of_method(VALUE method, const char *name, size_t name_length);
/* This thread runs Ruby code no more, or does again. */
void place_thread_ended(bool ended);

/* thread.c: names of threads, and fibers */

void thread_start(void);
struct note;
struct note *thread_note(void); /* of what runs on this thread: the thread itself, or a fiber */

/* mutex.c: who waits for whom */
void mutex_start(void);

/* api.c, trace.c, tracepoint.c: the methods and the class of the module */
void api_define(VALUE module);
void trace_define(VALUE module);
void tracepoint_define(VALUE module);
void note_set(const char *text, size_t bytes);

#endif
