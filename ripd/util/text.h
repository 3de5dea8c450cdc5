/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - text that is put together; and numbers, fields and lines of the text that the kernel writes. Pure on
 * terminated text: nothing beyond the terminator is read. A pointer that is returned is into the text, and NULL is
 * passed on: calls can be chained.
 */
#ifndef RIPD_UTIL_TEXT_H
#define RIPD_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Adds to a terminated text in size bytes; what does not fit is left out. */
__attribute__((format(printf, 3, 4))) void text_append(char *text, size_t size, const char *format, ...);

/* A question mark for each byte that is not printable ASCII. */
void text_make_printable(char *text);

/* Whether a character of Unicode acts instead of showing: C0, DEL, C1, line separators and directional controls. */
bool text_is_control(uint32_t code);

/*
 * One character of UTF-8 at bytes[0], of length bytes: how many it takes. *ret_code is TEXT_MALFORMED where it is not
 * well-formed, or names a noncharacter: then it takes the maximal part that could begin a character, as the Unicode
 * standard recommends.
 */
#define TEXT_MALFORMED UINT32_MAX
size_t text_character(const void *bytes, size_t length, uint32_t *ret_code);

/* Past blanks and tabs. */
const char *text_skip_blanks(const char *text);

/* The start of the field that is `count` fields further on. */
const char *text_skip_fields(const char *text, int count);

/* The value of a hexadecimal digit; UINT32_MAX: it is none. */
unsigned text_digit(char letter);

/* A number after blanks, and what follows it; NULL if there is none, or it exceeds limit. */
const char *text_decimal(const char *text, uint64_t limit, uint64_t *ret_value);
const char *text_hex(const char *text, uint64_t limit, uint64_t *ret_value); /* without 0x */

/* So many decimal numbers, and what follows the last; NULL if one of them is missing or exceeds limit. */
const char *text_decimals(const char *text, uint64_t limit, uint64_t *ret_values, size_t count);

/* The whole text is a decimal number within these bounds, without anything around it. */
bool text_number(const char *text, uint64_t low, uint64_t high, uint64_t *ret_number);

/* So many bytes from pairs of hexadecimal digits; false: there are fewer. */
bool text_hex_bytes(const char *text, void *ret_bytes, size_t count);

/* So many bytes as such pairs, with a terminator. */
void text_put_hex(char *ret_text, const void *bytes, size_t count);

/* What follows key at the beginning of a line; NULL: no line begins with it. */
const char *text_find_line(const char *text, const char *key);

/* Where the next line begins; NULL: there is none. */
const char *text_next_line(const char *text);

#endif
