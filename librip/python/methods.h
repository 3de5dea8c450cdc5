/* SPDX-License-Identifier: Apache-2.0 */
/* methods.h - functions of the interpreter, replaced where they lie. */
#ifndef RIP_PYTHON_METHODS_H
#define RIP_PYTHON_METHODS_H

#include "binding.h"

/* A function or method of the interpreter that is written in C, and what takes its place. */
struct binding_method {
    const char *name;
    PyCFunction ours;
    PyCFunction *ret_theirs; /* set to what it was */
};

/*
 * Puts ours in the place of functions of a module or methods of a type, also where they are bound or imported already,
 * and without a trace that a program could see: the definition of each is changed where it lies. 0, or -1 with an
 * exception.
 */
int binding_methods_replace(PyObject *owner, const struct binding_method *methods, size_t count);

#endif
