/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_text.h - pieces of the parsers of /proc. Pure on terminated text: nothing beyond the terminator is read. For
 * ripd/os alone.
 */
#ifndef RIPD_OS_PROC_TEXT_H
#define RIPD_OS_PROC_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Past blanks and tabs. */
const char *text_skip_blanks(const char *text);

/* The start of field number `field`, where text is at the start of field number `at`. Never NULL. */
const char *text_skip_fields(const char *text, int at, int field);

/* A number after blanks, and what follows it; NULL if there is none, or it exceeds limit. */
const char *text_decimal(const char *text, uint64_t limit, uint64_t *ret_value);
const char *text_hex(const char *text, uint64_t limit, uint64_t *ret_value); /* without 0x */

/* What follows key at the beginning of a line; NULL: no line begins with it. */
const char *text_find_line(const char *text, const char *key);

/* Where the next line begins; NULL: there is none. */
const char *text_next_line(const char *text);

#endif
