/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h - the interface between the files of the Ruby binding.
 *
 * The caller of a function holds the GVL, unless a comment says otherwise. A failure in the binding does not affect the
 * program.
 */
#ifndef RIP_RUBY_BINDING_H
#define RIP_RUBY_BINDING_H

#include "layout.h"

#include <rip/runtime.h>

extern const struct rip_runtime *binding_runtime; /* never NULL once there is a module */

/*
 * Returns the module Rip. The first call makes it and installs the hooks. The module has no name until it is assigned
 * to a constant. A second copy of this library finds the module of the first copy. May raise any exception of Ruby.
 */
VALUE binding_module(void);

/*
 * For hooks: calls run, and drops an exception that it raises. Returns false if it raised. The interrupts in held
 * (Thread#kill and raise, timeouts, signals) are deferred meanwhile. Otherwise any method call in run could raise them
 * here, although they are meant for the program.
 */
bool binding_protect(uint32_t held, VALUE (*run)(VALUE), VALUE argument, VALUE *ret_result);

/* class.c: names of classes */
void class_start(void);
void class_names_renew(void); /* call after classes have moved in memory */
/* Returns the number of bytes written to ret_text; 0 = the name is not known. The GVL is not needed. */
size_t class_name(VALUE class, char *ret_text, size_t size_bytes);

/* web.c: notes of requests and queries. name: of a class whose body has just been run */
void web_define(VALUE module);
void web_class_ended(VALUE name);

/* api.c, trace.c, tracepoint.c: the module's methods and its class Tracepoint */
void api_define(VALUE module);
void trace_define(VALUE module);
void tracepoint_define(VALUE module);
void note_set(const char *text, size_t bytes);

#endif
