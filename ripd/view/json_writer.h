/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_writer.h - streaming JSON into one growing buffer. Pure. (A tree of 10,000 objects costs thirty times more.)
 *
 * Each value has a key, or NULL where it is an item of an array. Keys are literals, and not escaped. Errors are sticky:
 * after a failed allocation every call does nothing and json_finish() returns it.
 *
 * Guarantees
 *   A. Whatever bytes go in, what comes out is valid JSON in valid UTF-8, and no byte of it moves a terminal's cursor
 *      or the direction of its text: C0, DEL, C1, line separators and directional controls are escaped.
 *   B. A sequence that is not well-formed UTF-8 (overlong, surrogate, cut short, beyond U+10FFFF) or names a
 *      noncharacter becomes one U+FFFD for each maximal part, as the Unicode standard recommends.
 *   C. Every function either writes all of its text or, when memory is gone, nothing from there on.
 *   D. No number is one that parsers refuse: many have 64 bits with a sign (jansson, Go, Java), and give up the whole
 *      document for one that is larger. Nothing counts that far, but a ring can claim to: that is null.
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
    uint64_t arrays; /* what is open, from inside out: the lowest bit is set if it is an array; an object elsewhere */
    bool comma;      /* the next value is preceded by a comma: false also lets the last one go on */
    bool failed;
};

void json_init(struct json_writer *writer);
void json_done(struct json_writer *writer);
/* 0 and the text (malloc'ed, terminated; the caller frees) or -ENOMEM. */
int json_finish(struct json_writer *writer, char **ret_text, size_t *ret_length);

/* '{' or '['; and the end of what was opened last, an object if it was not here. Never more than 64 in one another. */
void json_open(struct json_writer *writer, const char *key, char bracket);
void json_close(struct json_writer *writer);
/* Opens what is known; or null, and false. */
bool json_open_known(struct json_writer *writer, const char *key, char bracket, bool known);
/* The next value stands on a line of its own: an item of a list, for people and for line-wise tools. */
void json_line(struct json_writer *writer);

#define JSON_UNKNOWN UINT64_MAX /* a number that is shown as null, as is any above INT64_MAX */
void json_uint(struct json_writer *writer, const char *key, uint64_t value);
void json_hex_number(struct json_writer *writer, const char *key, uint64_t value); /* "0x1234" */
void json_bool(struct json_writer *writer, const char *key, bool value);
void json_none(struct json_writer *writer, const char *key);
/* A text of any bytes; NULL is null. */
void json_text(struct json_writer *writer, const char *key, const char *text);
/* Bytes of unknown origin: KEY_hex follows if showing them replaced or escaped anything but quotes. */
void json_bytes(struct json_writer *writer, const char *key, const void *bytes, size_t length);
void json_name(struct json_writer *writer, const char *key, const char *text); /* the same of a text; NULL is null */
void json_time(struct json_writer *writer, const char *key,
               uint64_t wall_ns); /* "2026-11-20T09:41:07.120Z"; 0 is null */
/* A value that is JSON already. */
void json_raw(struct json_writer *writer, const char *key, const char *text, size_t length);

/* 0 is not known. */
static inline uint64_t json_nonzero(uint64_t value)
{
    return value == 0 ? JSON_UNKNOWN : value;
}

/* A document, an object; of a schema, or NULL. */
static inline void json_begin(struct json_writer *writer, const char *schema)
{
    json_init(writer);
    json_open(writer, NULL, '{');
    if (schema != NULL)
        json_text(writer, "schema", schema);
}

/* Whole milliseconds; JSON_UNKNOWN is null. */
static inline void json_ms(struct json_writer *writer, const char *key, uint64_t ns)
{
    json_uint(writer, key, ns == JSON_UNKNOWN ? JSON_UNKNOWN : ns / 1000000);
}

#endif
