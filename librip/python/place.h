/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - finds the place of a thread in a script. A place is a line as rip_snap_at() takes it; 0 = none. */
#ifndef RIP_PYTHON_PLACE_H
#define RIP_PYTHON_PLACE_H

#include "binding.h"

/* Where code comes from, in the order in which places are preferred. */
enum binding_origin {
    BINDING_ORIGIN_PROGRAM,
    BINDING_ORIGIN_PACKAGE, /* installed: site-packages and dist-packages */
    BINDING_ORIGIN_LIBRARY, /* the standard library */
    BINDING_ORIGIN_NONE,
};
enum binding_origin binding_origin_of(const PyCodeObject *code);

/* Returns the current line of exactly this frame. */
uint64_t binding_place_in(const struct _PyInterpreterFrame *frame);
/*
 * Returns the place to show for a stack of frames. It is the innermost frame with the program's own code, else with
 * code of an installed package, else of the standard library.
 */
uint64_t binding_place_of(const struct _PyInterpreterFrame *innermost);
/* The same for the calling thread. */
uint64_t binding_place(void);
/* Returns the first line of a function. */
uint64_t binding_place_of_code(PyCodeObject *code);
/* Code of this file counts as the standard library's. For package rip's own file. */
void binding_leave_out(const char *path, size_t length);
/* Returns the innermost frame of the calling thread. */
struct _PyInterpreterFrame *binding_frame(void);
/* Returns true if the code is from this file of the standard library ("threading.py"). */
bool binding_is_library(const PyCodeObject *code, const char *file);
/*
 * From now on wrapped calls have places in scripts, and waits for the GIL are recognized. Returns 0, or -1 with an
 * exception.
 */
int binding_place_start(void);

static inline const void *binding_address(uint64_t place)
{
    return (const void *)(uintptr_t)place;
}

#endif
