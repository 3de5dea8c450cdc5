/* SPDX-License-Identifier: Apache-2.0 */
/* percent.h - percent-decoding, strictly. Pure. */
#ifndef RIPD_VIEW_PERCENT_H
#define RIPD_VIEW_PERCENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Decodes `length` bytes of text and terminates them. plus_is_space: as HTML forms do in a query; never in a path.
 * 0; -EINVAL: '%' without two hexadecimal digits, or a NUL byte; -ENAMETOOLONG: more than capacity - 1 bytes.
 */
int percent_decode(const char *text, size_t length, bool plus_is_space, char *ret_text, size_t capacity);

#endif
