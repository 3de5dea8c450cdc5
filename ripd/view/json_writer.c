/* SPDX-License-Identifier: Apache-2.0 */
/* json_writer.c - streaming JSON. Pure: it uses only memory and bytes. */
#include "view/json_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/array.h"
#include "util/text.h"

#define ESCAPE_BYTES 6u /* \u00XX */
#define NUMBER_BYTES 32u

static const char HEX_DIGITS[] = "0123456789abcdef";

void json_init(struct json_writer *writer)
{
    memset(writer, 0, sizeof(*writer));
}

void json_done(struct json_writer *writer)
{
    free(writer->text);
    memset(writer, 0, sizeof(*writer));
}

static bool grow(struct json_writer *writer, size_t bytes)
{
    writer->failed |= !ARRAY_RESERVE(writer->text, writer->capacity, writer->length + bytes);
    return !writer->failed;
}

/*
 * Writes the text before a value, and makes room for the given number of bytes and a terminator. Returns NULL if out of
 * memory.
 */
static inline char *begin(struct json_writer *writer, const char *key, size_t bytes)
{
    size_t key_length = key == NULL ? 0 : strlen(key);
    char *at;

    if (writer->failed ||
        (writer->capacity - writer->length <= key_length + 4 + bytes && !grow(writer, key_length + 5 + bytes)))
        return NULL;
    at = writer->text + writer->length;
    if (writer->comma)
        *at++ = ',';
    if (key == NULL)
        return at;
    *at++ = '"';
    at = mempcpy(at, key, key_length);
    *at++ = '"';
    *at++ = ':';
    return at;
}

static inline void end(struct json_writer *writer, const char *at, bool comma)
{
    writer->length = (size_t)(at - writer->text);
    writer->comma = comma;
}

void json_raw(struct json_writer *writer, const char *key, const char *text, size_t length)
{
    char *at = begin(writer, key, length);

    if (at != NULL)
        end(writer, mempcpy(at, text, length), true);
}

void json_open(struct json_writer *writer, const char *key, char bracket)
{
    json_raw(writer, key, &bracket, 1);
    writer->arrays = writer->arrays << 1 | (bracket == '[');
    writer->comma = false;
}

void json_close(struct json_writer *writer)
{
    writer->comma = false;
    json_raw(writer, NULL, (writer->arrays & 1) != 0 ? "]" : "}", 1);
    writer->arrays >>= 1;
}

bool json_open_known(struct json_writer *writer, const char *key, char bracket, bool known)
{
    if (known)
        json_open(writer, key, bracket);
    else
        json_none(writer, key);
    return known;
}

void json_line(struct json_writer *writer)
{
    json_raw(writer, NULL, "\n", 1);
    writer->comma = false;
}

void json_none(struct json_writer *writer, const char *key)
{
    json_raw(writer, key, "null", 4);
}

void json_bool(struct json_writer *writer, const char *key, bool value)
{
    json_raw(writer, key, value ? "true" : "false", value ? 4 : 5);
}

/* Writes at least count_min digits before `end`. Returns the first. */
static inline char *put_digits(char *end, uint64_t value, unsigned base, unsigned count_min)
{
    for (unsigned count = 0; value != 0 || count < count_min; count++, value /= base)
        *--end = HEX_DIGITS[value % base];
    return end;
}

void json_uint(struct json_writer *writer, const char *key, uint64_t value)
{
    char digits[NUMBER_BYTES], *end = digits + sizeof(digits), *first = put_digits(end, value, 10, 1);

    if (value > INT64_MAX)
        json_none(writer, key);
    else
        json_raw(writer, key, first, (size_t)(end - first));
}

void json_hex_number(struct json_writer *writer, const char *key, uint64_t value)
{
    char digits[NUMBER_BYTES], *end = digits + sizeof(digits), *first = put_digits(end - 1, value, 16, 1) - 3;

    memcpy(first, "\"0x", 3);
    end[-1] = '"';
    json_raw(writer, key, first, (size_t)(end - first));
}

void json_time(struct json_writer *writer, const char *key, uint64_t wall_ns)
{
    time_t second = (time_t)(wall_ns / 1000000000); /* 64 bits of nanoseconds end in 2554 */
    char text[] = "\"YYYY-MM-DDThh:mm:ss.mmmZ\"";
    struct tm parts;

    if (wall_ns == 0 || gmtime_r(&second, &parts) == NULL) {
        json_none(writer, key);
        return;
    }
    put_digits(text + 5, (uint64_t)parts.tm_year + 1900, 10, 4);
    put_digits(text + 8, (uint64_t)parts.tm_mon + 1, 10, 2);
    put_digits(text + 11, (uint64_t)parts.tm_mday, 10, 2);
    put_digits(text + 14, (uint64_t)parts.tm_hour, 10, 2);
    put_digits(text + 17, (uint64_t)parts.tm_min, 10, 2);
    put_digits(text + 20, (uint64_t)parts.tm_sec, 10, 2);
    put_digits(text + 24, wall_ns / 1000000 % 1000, 10, 3);
    json_raw(writer, key, text, sizeof(text) - 1);
}

/* Bytes that are copied unchanged: printable ASCII except quote and backslash. */
static const bool plain[256] = {
    [0x20 ... 0x21] = true,
    [0x23 ... 0x5b] = true,
    [0x5d ... 0x7e] = true,
};

static char *put_escape(char *at, uint32_t code)
{
    *at++ = '\\';
    *at++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *at++ = HEX_DIGITS[code >> shift & 0xf];
    return at;
}

/* Writes the character at bytes[0], which is not plain. Returns how many bytes it had. */
static size_t put_special(char **at, const unsigned char *bytes, size_t length, bool *changed)
{
    uint32_t code;
    size_t taken;

    if (bytes[0] == '"' || bytes[0] == '\\') {
        *(*at)++ = '\\';
        *(*at)++ = (char)bytes[0];
        return 1;
    }
    if (bytes[0] < 0x80) {
        *at = put_escape(*at, bytes[0]);
        *changed = true;
        return 1;
    }
    taken = text_character(bytes, length, &code);
    if (code == TEXT_MALFORMED) {
        memcpy(*at, "\xef\xbf\xbd", 3);
        *at += 3;
        *changed = true;
    } else if (text_is_control(code)) {
        *at = put_escape(*at, code);
        *changed = true;
    } else {
        memcpy(*at, bytes, taken);
        *at += taken;
    }
    return taken;
}

/* Returns true if anything was replaced, or escaped as a control character. */
static bool put_string(struct json_writer *writer, const char *key, const unsigned char *bytes, size_t length)
{
    char *at = begin(writer, key, ESCAPE_BYTES * length + 2);
    bool changed = false;
    size_t done = 0;

    if (at == NULL)
        return false;
    *at++ = '"';
    while (done < length) {
        if (plain[bytes[done]])
            *at++ = (char)bytes[done++];
        else
            done += put_special(&at, bytes + done, length - done, &changed);
    }
    *at++ = '"';
    end(writer, at, true);
    return changed;
}

void json_bytes(struct json_writer *writer, const char *key, const void *bytes, size_t length)
{
    char *at;

    if (!put_string(writer, key, bytes, length) || key == NULL)
        return;
    at = begin(writer, key, 4 + 2 * length + 2);
    if (at == NULL)
        return;
    at = mempcpy(at - 2, "_hex\":\"", 7); /* overwrites the quote and colon after the key */
    text_put_hex(at, bytes, length);
    at += 2 * length;
    *at++ = '"';
    end(writer, at, true);
}

void json_name(struct json_writer *writer, const char *key, const char *text)
{
    if (text == NULL)
        json_none(writer, key);
    else
        json_bytes(writer, key, text, strlen(text));
}

void json_text(struct json_writer *writer, const char *key, const char *text)
{
    if (text == NULL)
        json_none(writer, key);
    else
        (void)put_string(writer, key, (const unsigned char *)text, strlen(text));
}

int json_finish(struct json_writer *writer, char **ret_text, size_t *ret_length)
{
    char *text;

    if (writer->failed || (text = realloc(writer->text, writer->length + 1)) == NULL) {
        json_done(writer);
        return -ENOMEM;
    }
    text[writer->length] = '\0';
    *ret_text = text;
    *ret_length = writer->length;
    json_init(writer);
    return 0;
}
