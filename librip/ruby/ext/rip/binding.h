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

/*
 * In a hook: calls run, and drops what it raises. False if it raised. Thread#kill and raise, time-outs and signals, if
 * in held, wait meanwhile: each call of a method would raise them, and they are the program's.
 */
bool binding_protect(uint32_t held, VALUE (*run)(VALUE), VALUE argument, VALUE *ret_result);

/* class.c: names of classes */
void class_start(void);
void class_names_renew(void); /* classes have moved in memory */
/* Bytes of the name that were written; 0 = not known. Without the GVL, too. */
size_t class_name(VALUE class, char *ret_text, size_t size_bytes);

/* web.c: notes of requests and queries. name is of a class whose body has ended. */
void web_define(VALUE module);
void web_class_ended(VALUE name);

/* api.c, trace.c, tracepoint.c: the methods and the class of the module */
void api_define(VALUE module);
void trace_define(VALUE module);
void tracepoint_define(VALUE module);
void note_set(const char *text, size_t bytes);

#endif
