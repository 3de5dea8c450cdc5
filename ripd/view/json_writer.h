/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_writer.h - streaming JSON into one growing buffer. Pure. (A tree of 10,000 objects costs thirty times more.)
 *
 * Errors are sticky: after a failed allocation every call does nothing and json_finish() says so.
 */
#ifndef RIPD_VIEW_JSON_WRITER_H
#define RIPD_VIEW_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct json_writer {
    char *text;
    size_t length;
    size_t capacity;
    uint32_t depth;
    bool comma; /* the next value or key is preceded by a comma */
    bool failed;
};

void json_init(struct json_writer *writer);
void json_done(struct json_writer *writer);

void json_object_begin(struct json_writer *writer);
void json_object_end(struct json_writer *writer);
void json_array_begin(struct json_writer *writer);
void json_array_end(struct json_writer *writer);
void json_key_text(struct json_writer *writer, const char *key, size_t length); /* not escaped */
static inline void json_key(struct json_writer *writer, const char *key) /* a literal: its length is a constant */
{
    json_key_text(writer, key, strlen(key));
}
void json_text(struct json_writer *writer, const char *text);
/* Bytes of unknown origin: invalid UTF-8 becomes U+FFFD, controls are escaped. True if anything was replaced or escaped
   as a control character: the caller adds KEY_hex. */
bool json_bytes(struct json_writer *writer, const void *bytes, size_t length);
void json_hex(struct json_writer *writer, const void *bytes, size_t length); /* a string of hexadecimal digits */
void json_uint(struct json_writer *writer, uint64_t value);                  /* beyond INT64_MAX it is null */
void json_hex_number(struct json_writer *writer, uint64_t value);            /* "0x1234" */
void json_bool(struct json_writer *writer, bool value);
void json_none(struct json_writer *writer);
void json_raw(struct json_writer *writer, const char *text, size_t length); /* a value that is JSON already */
/* {"KEY":VALUE,MEMBERS}: an object of a number, as above, and what is JSON already. The key is not escaped. */
void json_object_raw(struct json_writer *writer, const char *key, uint64_t value, const char *members, size_t length);
void json_time(struct json_writer *writer, uint64_t wall_ns); /* "2026-11-20T09:41:07.120Z" */

/* The next value stands on a line of its own: an item of a list, for people and for line-wise tools. */
void json_line(struct json_writer *writer);

/* What comes goes behind the first bytes of this malloc'ed block, which the writer takes over. It has none yet. */
void json_give(struct json_writer *writer, char *text, size_t length, size_t capacity);

/* Takes out what was written so far, as json_finish() does; what comes goes on from there. */
int json_take(struct json_writer *writer, char **ret_text, size_t *ret_length);

/* Room for so many bytes at once. */
void json_reserve(struct json_writer *writer, size_t bytes);

/* 0 and the text (malloc'ed, terminated; the caller frees) or -ENOMEM. */
int json_finish(struct json_writer *writer, char **ret_text, size_t *ret_length);

#endif
