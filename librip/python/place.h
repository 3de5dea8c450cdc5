/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - where in a script a thread is. */
#ifndef RIP_PYTHON_PLACE_H
#define RIP_PYTHON_PLACE_H

#include "binding.h"

/* Whose code it is, in the order in which places are preferred. */
enum binding_origin {
    BINDING_ORIGIN_PROGRAM,
    BINDING_ORIGIN_PACKAGE, /* installed: site-packages and dist-packages */
    BINDING_ORIGIN_LIBRARY, /* of the interpreter */
    BINDING_ORIGIN_NONE,
};
enum binding_origin binding_origin_of(const PyCodeObject *code);

/* The place in this very frame. */
uint64_t binding_place_in(const struct _PyInterpreterFrame *frame);
/*
 * The place in the script, for rip_snap_at(), where a frame is: of it and those it was called from, the innermost of
 * the program's own code, else of an installed package, else of the standard library. 0 if there is none.
 */
uint64_t binding_place_of(const struct _PyInterpreterFrame *innermost);
/* The same for the calling thread. */
uint64_t binding_place(void);
/* The first line of a function. */
uint64_t binding_place_of_code(PyCodeObject *code);
/* Code of this file is no place to show: package rip's own. */
void binding_leave_out(const char *path, size_t length);
/* The innermost frame of the calling thread. */
struct _PyInterpreterFrame *binding_frame(void);
/* True if code is of this file of the standard library ("threading.py"). */
bool binding_is_library(const PyCodeObject *code, const char *file);
/* From here on wrapped calls have places in scripts, and waits for the GIL are known as such. 0, or -1 with an
 * exception. */
int binding_place_start(void);

static inline const void *binding_address(uint64_t place)
{
    return (const void *)(uintptr_t)place;
}

#endif
