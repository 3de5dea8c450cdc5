/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_writer.h - streaming JSON into one growing buffer. Pure. (A tree of 10,000 objects costs thirty times more.)
 *
 * Each value has a key, or NULL if it is an item of an array. Keys are literals, and not escaped. Errors are sticky:
 * after a failed allocation every call does nothing, and json_finish() returns the error.
 *
 * Guarantees
 *   A. Whatever the input bytes, the output is valid JSON in valid UTF-8, and no byte of it moves the cursor of a
 *      terminal or changes the direction of its text: C0, DEL, C1, line separators and directional controls are
 *      escaped.
 *   B. A sequence that is not well-formed UTF-8 (overlong, surrogate, cut short, beyond U+10FFFF) or encodes a
 *      noncharacter becomes one U+FFFD for each maximal part, as the Unicode standard recommends.
 *   C. Every function writes all of its text or, after an allocation has failed, nothing.
 *   D. No number is refused by parsers: many use signed 64-bit numbers (jansson, Go, Java), and reject a whole document
 *      for a larger one. No count gets that large, but a ring can claim one: such a number is null.
 */
#ifndef RIPD_VIEW_JSON_WRITER_H
#define RIPD_VIEW_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_writer {
    char *text;
    size_t length;
    size_t capacity;
    uint64_t arrays; /* open brackets, the innermost in the lowest bit: 1 = array, 0 = object */
    bool comma;      /* whether a comma precedes the next value; set to false to continue the last value */
    bool failed;
};

void json_init(struct json_writer *writer);
void json_done(struct json_writer *writer);
/* Returns 0 and the text (malloc'ed and terminated; the caller frees it), or -ENOMEM. */
int json_finish(struct json_writer *writer, char **ret_text, size_t *ret_length);

/*
 * bracket is '{' or '['. json_close() ends what was opened last, or an object that was opened elsewhere. At most 64
 * levels.
 */
void json_open(struct json_writer *writer, const char *key, char bracket);
void json_close(struct json_writer *writer);
/* Opens a value and returns true if it is known; otherwise writes null and returns false. */
bool json_open_known(struct json_writer *writer, const char *key, char bracket, bool known);
/* Begins a new line before the next value, for people and line-wise tools: used for items of a list. */
void json_line(struct json_writer *writer);

#define JSON_UNKNOWN UINT64_MAX /* written as null, as is any number above INT64_MAX */
void json_uint(struct json_writer *writer, const char *key, uint64_t value);
void json_hex_number(struct json_writer *writer, const char *key, uint64_t value); /* "0x1234" */
void json_bool(struct json_writer *writer, const char *key, bool value);
void json_none(struct json_writer *writer, const char *key);
/* Writes a text of any bytes; NULL is null. */
void json_text(struct json_writer *writer, const char *key, const char *text);
/* Writes bytes of unknown origin. KEY_hex follows if anything except quotes was replaced or escaped. */
void json_bytes(struct json_writer *writer, const char *key, const void *bytes, size_t length);
void json_name(struct json_writer *writer, const char *key, const char *text); /* the same for a text; NULL is null */
void json_time(struct json_writer *writer, const char *key,
               uint64_t wall_ns); /* "2026-11-20T09:41:07.120Z"; 0 is null */
/* Writes a value that is already JSON. */
void json_raw(struct json_writer *writer, const char *key, const char *text, size_t length);

/* Maps 0, which is "not known", to JSON_UNKNOWN. */
static inline uint64_t json_nonzero(uint64_t value)
{
    return value == 0 ? JSON_UNKNOWN : value;
}

/* Begins a document: an object with a schema, or NULL for none. */
static inline void json_begin(struct json_writer *writer, const char *schema)
{
    json_init(writer);
    json_open(writer, NULL, '{');
    if (schema != NULL)
        json_text(writer, "schema", schema);
}

/* Writes whole milliseconds; JSON_UNKNOWN is null. */
static inline void json_ms(struct json_writer *writer, const char *key, uint64_t ns)
{
    json_uint(writer, key, ns == JSON_UNKNOWN ? JSON_UNKNOWN : ns / 1000000);
}

#endif
