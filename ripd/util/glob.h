/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.h - patterns over the bytes of names: '*' any bytes, '?' one byte, '[a-z]' and '[!a-z]' classes, '\' quotes.
 * Pure.
 *
 * A pattern is made into a table once, and then matched against as many names as there are.
 *
 * Guarantees
 *   A. A match takes one step for each byte of the name, whatever the pattern: there is nothing to try again.
 *   B. Any pattern is a pattern: a '[' without its ']' and a '\' at the end stand for themselves.
 *   C. Bytes are compared as unsigned bytes; the text need not be terminated and may hold NUL.
 */
#ifndef RIPD_UTIL_GLOB_H
#define RIPD_UTIL_GLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rip/ring.h"

#define GLOB_ELEMENTS_MAX 63u /* each takes a byte, so a pattern with more of them matches no name */

_Static_assert(RIP_NAME_BYTES <= GLOB_ELEMENTS_MAX, "a name may be longer than what a glob can match");

/* A state is a set of places in the pattern: bit i is set when what came so far matches all before element i. */
struct glob {
    uint64_t takers[256]; /* by byte: bit i is set when element i takes it */
    uint64_t stars;       /* bit i: there is a star before element i */
    uint64_t end;         /* the bit behind the last element; 0: there are too many */
};

void glob_make(struct glob *ret_glob, const char *pattern);

/* Whether the whole text matches. */
bool glob_matches(const struct glob *glob, const unsigned char *text, size_t text_bytes);

#endif
