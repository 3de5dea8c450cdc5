/* SPDX-License-Identifier: Apache-2.0 */
/* methods.h - replaces functions of the interpreter in place. */
#ifndef RIP_PYTHON_METHODS_H
#define RIP_PYTHON_METHODS_H

#include "binding.h"

/* A function or method of the interpreter that is written in C, and its replacement. */
struct binding_method {
    const char *name;
    PyCFunction ours;
    PyCFunction *ret_theirs; /* set to the original function */
};

/*
 * Replaces functions of a module or methods of a type. Their definitions are changed in place. So existing references
 * to a function call the replacement, too, and a program cannot see the change. Returns 0, or -1 with an exception.
 */
int binding_methods_replace(PyObject *owner, const struct binding_method *methods, size_t count);

#endif
