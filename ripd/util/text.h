/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - builds text, and parses numbers, fields and lines of text that the kernel writes. Pure. Text is terminated,
 * and nothing after the terminator is read. A returned pointer is into the text. Functions that skip fields, parse
 * numbers or find a line return NULL if they are given NULL, so calls can be chained.
 */
#ifndef RIPD_UTIL_TEXT_H
#define RIPD_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Appends to a terminated text in a buffer of size bytes. What does not fit is cut off. */
__attribute__((format(printf, 3, 4))) void text_append(char *text, size_t size, const char *format, ...);

/* Replaces each byte that is not printable ASCII with a question mark. */
void text_make_printable(char *text);

/*
 * Returns true if a Unicode character is not shown but has an effect: C0, DEL, C1, line separators, directional
 * controls.
 */
bool text_is_control(uint32_t code);

/*
 * Decodes the UTF-8 character at the start of a buffer of length bytes. Returns the number of bytes that it takes. If
 * it is not well-formed or is a noncharacter, *ret_code is TEXT_MALFORMED, and the bytes taken are the longest part
 * that could begin a character, as the Unicode standard recommends.
 */
#define TEXT_MALFORMED UINT32_MAX
size_t text_character(const void *bytes, size_t length, uint32_t *ret_code);

/* Skips blanks and tabs. */
const char *text_skip_blanks(const char *text);

/* Skips count fields. Returns the start of the next field. */
const char *text_skip_fields(const char *text, int count);

/* Returns the value of a hexadecimal digit, or UINT32_MAX if it is none. */
unsigned text_digit(char letter);

/* Parses a number after blanks. Returns what follows it, or NULL if there is none or it exceeds limit. */
const char *text_decimal(const char *text, uint64_t limit, uint64_t *ret_value);
const char *text_hex(const char *text, uint64_t limit, uint64_t *ret_value); /* without 0x */

/* Parses count decimal numbers. Returns what follows the last, or NULL if one is missing or exceeds limit. */
const char *text_decimals(const char *text, uint64_t limit, uint64_t *ret_values, size_t count);

/* Returns true if the whole text is a decimal number within these limits, with nothing around it. */
bool text_number(const char *text, uint64_t low, uint64_t high, uint64_t *ret_number);

/* Converts pairs of hexadecimal digits to count bytes. Returns false if there are fewer. */
bool text_hex_bytes(const char *text, void *ret_bytes, size_t count);

/* Writes count bytes as pairs of hexadecimal digits, with a terminator. */
void text_put_hex(char *ret_text, const void *bytes, size_t count);

/* Returns what follows key at the beginning of a line, or NULL if no line begins with it. */
const char *text_find_line(const char *text, const char *key);

/* Returns the start of the next line, or NULL if there is none. */
const char *text_next_line(const char *text);

#endif
