/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.h - matches names of bytes against patterns: '*' for any bytes, '?' for one byte, '[a-z]' and '[!a-z]' for
 * classes, '\' to quote. Pure.
 *
 * A pattern is compiled to a table once, and then matched against any number of names.
 *
 * Guarantees
 *   A. A match takes one step per byte of the name, whatever the pattern: there is no backtracking.
 *   B. Every pattern is valid: a '[' without its ']' and a '\' at the end match themselves.
 *   C. Bytes are compared as unsigned bytes. The text need not be terminated and may contain NUL.
 */
#ifndef RIPD_UTIL_GLOB_H
#define RIPD_UTIL_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rip/ring.h"

#define GLOB_ELEMENTS_MAX 63u /* each takes a byte, so a pattern with more of them matches no name */

_Static_assert(RIP_NAME_BYTES <= GLOB_ELEMENTS_MAX, "a name may be longer than what a glob can match");

/* A state is a set of positions: bit i is set if the text so far matches everything before element i. */
struct glob {
    uint64_t takers[256]; /* by byte: bit i is set if element i takes it */
    uint64_t stars;       /* bit i is set if there is a star before element i */
    uint64_t end;         /* the bit after the last element; 0 = too many elements */
};

void glob_make(struct glob *ret_glob, const char *pattern);

/* Returns true if the whole text matches. */
bool glob_matches(const struct glob *glob, const unsigned char *text, size_t text_bytes);

#endif
