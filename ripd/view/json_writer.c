/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_writer.c - streaming JSON. Pure: it knows memory and bytes, nothing else.
 *
 * Guarantees
 *   A. Whatever bytes go in, what comes out is valid JSON in valid UTF-8, and no byte of it moves a terminal's cursor
 *      or the direction of its text: C0, DEL, C1, line separators and directional controls are escaped.
 *   B. A sequence that is not well-formed UTF-8 (overlong, surrogate, cut short, beyond U+10FFFF) or names a
 *      noncharacter becomes one U+FFFD for each maximal part, as the Unicode standard recommends.
 *   C. Every function either writes all of its text or, when memory is gone, nothing from there on.
 *   D. No number is one that parsers refuse: many have 64 bits with a sign (jansson, Go, Java), and give up the whole
 *      document for one that is larger. Nothing counts that far, but a ring can claim to: that is not known.
 */
#include "view/json_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY_BYTES 1024u
#define ESCAPE_BYTES 6u /* \u00XX */
#define CODE_INVALID UINT32_MAX
#define UINT_DIGITS 20u

static const char HEX_DIGITS[] = "0123456789abcdef";

static const char DIGIT_PAIRS[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                  "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                  "8081828384858687888990919293949596979899";

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
    size_t capacity;
    char *text;

    if (writer->failed || bytes > SIZE_MAX / 4 || writer->length > SIZE_MAX / 4) {
        writer->failed = true;
        return false;
    }
    capacity = writer->capacity == 0 ? FIRST_CAPACITY_BYTES : writer->capacity * 2;
    if (capacity < writer->length + bytes)
        capacity = writer->length + bytes;
    text = realloc(writer->text, capacity);
    if (text == NULL) {
        writer->failed = true;
        return false;
    }
    writer->text = text;
    writer->capacity = capacity;
    return true;
}

/* Where to write the next `bytes` bytes, one more for the terminator being there; NULL when memory is gone. */
static inline char *reserve(struct json_writer *writer, size_t bytes)
{
    if (writer->failed || (writer->capacity - writer->length <= bytes && !grow(writer, bytes + 1)))
        return NULL;
    return writer->text + writer->length;
}

static inline void written(struct json_writer *writer, const char *end, bool comma)
{
    writer->length = (size_t)(end - writer->text);
    writer->comma = comma;
}

static inline char *put_comma(const struct json_writer *writer, char *at)
{
    if (writer->comma)
        *at++ = ',';
    return at;
}

static void put_bracket(struct json_writer *writer, char bracket, bool opens)
{
    char *at = reserve(writer, 2);

    if (at == NULL)
        return;
    if (opens)
        at = put_comma(writer, at);
    *at++ = bracket;
    writer->depth += opens ? 1u : UINT32_MAX;
    written(writer, at, !opens);
}

void json_object_begin(struct json_writer *writer)
{
    put_bracket(writer, '{', true);
}

void json_object_end(struct json_writer *writer)
{
    put_bracket(writer, '}', false);
}

void json_array_begin(struct json_writer *writer)
{
    put_bracket(writer, '[', true);
}

void json_array_end(struct json_writer *writer)
{
    put_bracket(writer, ']', false);
}

void json_line(struct json_writer *writer)
{
    char *at = reserve(writer, 2);

    if (at == NULL)
        return;
    at = put_comma(writer, at);
    *at++ = '\n';
    written(writer, at, false);
}

void json_key_text(struct json_writer *writer, const char *key, size_t length)
{
    char *at = reserve(writer, length + 4);

    if (at == NULL)
        return;
    at = put_comma(writer, at);
    *at++ = '"';
    memcpy(at, key, length);
    at += length;
    *at++ = '"';
    *at++ = ':';
    written(writer, at, false);
}

/* Bytes that can be copied as they are: printable ASCII but for quote and backslash. */
static const bool plain[256] = {
    [0x20 ... 0x21] = true,
    [0x23 ... 0x5b] = true,
    [0x5d ... 0x7e] = true,
};

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

/* The top bit of some byte is set if one of the eight is zero. */
static inline uint64_t has_zero(uint64_t bytes)
{
    return (bytes - EACH_BYTE(0x01)) & ~bytes & EACH_BYTE(0x80);
}

static inline bool all_plain(uint64_t bytes)
{
    uint64_t below_blank = (bytes - EACH_BYTE(0x20)) & ~bytes & EACH_BYTE(0x80);
    uint64_t special =
        has_zero(bytes ^ EACH_BYTE('"')) | has_zero(bytes ^ EACH_BYTE('\\')) | has_zero(bytes ^ EACH_BYTE(0x7f));

    return (below_blank | special | (bytes & EACH_BYTE(0x80))) == 0;
}

/* Copies the longest prefix that is plain, and at most length bytes. Returns how many. */
static inline size_t copy_plain(char *at, const unsigned char *bytes, size_t length)
{
    size_t i = 0;

    for (; length - i >= 8; i += 8) {
        uint64_t eight;

        memcpy(&eight, bytes + i, 8);
        if (!all_plain(eight))
            break;
        memcpy(at + i, &eight, 8);
    }
    for (; i < length && plain[bytes[i]]; i++)
        at[i] = (char)bytes[i];
    return i;
}

struct utf8_lead {
    size_t continuation_count;
    unsigned char second_low;
    unsigned char second_high;
};

/* Table 3-7 of the Unicode standard. continuation_count 0: no sequence starts so. */
static struct utf8_lead utf8_lead(unsigned char byte)
{
    if (byte >= 0xc2 && byte <= 0xdf)
        return (struct utf8_lead){1, 0x80, 0xbf};
    if (byte >= 0xe0 && byte <= 0xef)
        return (struct utf8_lead){2, byte == 0xe0 ? 0xa0 : 0x80, byte == 0xed ? 0x9f : 0xbf};
    if (byte >= 0xf0 && byte <= 0xf4)
        return (struct utf8_lead){3, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf};
    return (struct utf8_lead){0, 0, 0};
}

/* One multi-byte sequence at bytes[0]: how many bytes it takes; *ret_code is CODE_INVALID for a malformed part. */
static size_t utf8_decode(const unsigned char *bytes, size_t length, uint32_t *ret_code)
{
    struct utf8_lead lead = utf8_lead(bytes[0]);
    unsigned char low = lead.second_low;
    unsigned char high = lead.second_high;
    uint32_t code = bytes[0] & (0x3fu >> lead.continuation_count);
    size_t i;

    *ret_code = CODE_INVALID;
    for (i = 1; i <= lead.continuation_count; i++) {
        if (i >= length || bytes[i] < low || bytes[i] > high)
            return i;
        code = code << 6 | (bytes[i] & 0x3fu);
        low = 0x80;
        high = 0xbf;
    }
    if (lead.continuation_count != 0 && (code & 0xfffeu) != 0xfffeu && (code < 0xfdd0 || code > 0xfdef))
        *ret_code = code;
    return i;
}

/* Code points beyond ASCII that act instead of showing. */
static bool is_control(uint32_t code)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } ranges[] = {
        {0x80, 0x9f},     /* C1 */
        {0x61c, 0x61c},   /* Arabic letter mark */
        {0x200e, 0x200f}, /* direction marks */
        {0x2028, 0x202e}, /* line and paragraph separator, embeddings and overrides */
        {0x2066, 0x2069}, /* isolates */
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

static char *put_escape(char *at, uint32_t code)
{
    *at++ = '\\';
    *at++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *at++ = HEX_DIGITS[code >> shift & 0xf];
    return at;
}

/* The character at bytes[0], which is not plain. Returns the bytes it took. */
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
    taken = utf8_decode(bytes, length, &code);
    if (code == CODE_INVALID) {
        memcpy(*at, "\xef\xbf\xbd", 3);
        *at += 3;
        *changed = true;
    } else if (is_control(code)) {
        *at = put_escape(*at, code);
        *changed = true;
    } else {
        memcpy(*at, bytes, taken);
        *at += taken;
    }
    return taken;
}

bool json_bytes(struct json_writer *writer, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    bool changed = false;
    size_t done = 0;
    char *at;

    if (length > SIZE_MAX / 8) {
        writer->failed = true;
        return false;
    }
    at = reserve(writer, ESCAPE_BYTES * length + 3);
    if (at == NULL)
        return false;
    at = put_comma(writer, at);
    *at++ = '"';
    for (;;) {
        size_t count = copy_plain(at, from + done, length - done);

        at += count;
        done += count;
        if (done == length)
            break;
        done += put_special(&at, from + done, length - done, &changed);
    }
    *at++ = '"';
    written(writer, at, true);
    return changed;
}

void json_text(struct json_writer *writer, const char *text)
{
    json_bytes(writer, text, strlen(text));
}

void json_hex(struct json_writer *writer, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    char *at = length > SIZE_MAX / 8 ? NULL : reserve(writer, 2 * length + 3);

    if (at == NULL)
        return;
    at = put_comma(writer, at);
    *at++ = '"';
    for (size_t i = 0; i < length; i++) {
        *at++ = HEX_DIGITS[from[i] >> 4];
        *at++ = HEX_DIGITS[from[i] & 0xf];
    }
    *at++ = '"';
    written(writer, at, true);
}

static inline size_t digit_count(uint64_t value)
{
    size_t count = 1;

    for (; value >= 10000; value /= 10000)
        count += 4;
    return count + (value >= 10) + (value >= 100) + (value >= 1000);
}

static inline char *put_uint(char *at, uint64_t value)
{
    char *end = at + digit_count(value);
    char *first = end;

    while (value >= 100) {
        first -= 2;
        memcpy(first, DIGIT_PAIRS + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10)
        memcpy(first - 2, DIGIT_PAIRS + 2 * value, 2);
    else
        first[-1] = (char)('0' + value);
    return end;
}

/* At most UINT_DIGITS bytes. */
static inline char *put_number(char *at, uint64_t value)
{
    return value <= INT64_MAX ? put_uint(at, value) : mempcpy(at, "null", 4);
}

void json_uint(struct json_writer *writer, uint64_t value)
{
    char *at = reserve(writer, 1 + UINT_DIGITS);

    if (at == NULL)
        return;
    at = put_number(put_comma(writer, at), value);
    written(writer, at, true);
}

void json_hex_number(struct json_writer *writer, uint64_t value)
{
    char *at = reserve(writer, 1 + 2 + 2 + 16);
    int shift = 60;

    if (at == NULL)
        return;
    at = put_comma(writer, at);
    *at++ = '"';
    *at++ = '0';
    *at++ = 'x';
    while (shift > 0 && value >> shift == 0)
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        *at++ = HEX_DIGITS[value >> shift & 0xf];
    *at++ = '"';
    written(writer, at, true);
}

static void put_word(struct json_writer *writer, const char *word, size_t length)
{
    char *at = reserve(writer, 1 + length);

    if (at == NULL)
        return;
    at = put_comma(writer, at);
    memcpy(at, word, length);
    written(writer, at + length, true);
}

void json_bool(struct json_writer *writer, bool value)
{
    if (value)
        put_word(writer, "true", 4);
    else
        put_word(writer, "false", 5);
}

void json_none(struct json_writer *writer)
{
    put_word(writer, "null", 4);
}

void json_raw(struct json_writer *writer, const char *text, size_t length)
{
    put_word(writer, text, length);
}

void json_object_raw(struct json_writer *writer, const char *key, uint64_t value, const char *members, size_t length)
{
    size_t key_length = strlen(key);
    char *at = length > SIZE_MAX / 8 ? NULL : reserve(writer, key_length + UINT_DIGITS + length + 7);

    if (at == NULL)
        return;
    at = put_comma(writer, at);
    *at++ = '{';
    *at++ = '"';
    memcpy(at, key, key_length);
    at += key_length;
    *at++ = '"';
    *at++ = ':';
    at = put_number(at, value);
    *at++ = ',';
    memcpy(at, members, length);
    at += length;
    *at++ = '}';
    written(writer, at, true);
}

struct civil_date {
    unsigned year;
    unsigned month;
    unsigned day;
};

/* Days since 1970-01-01 into a date of the Gregorian calendar, counting years from March. */
static struct civil_date civil_date(uint64_t days_since_1970)
{
    uint64_t days = days_since_1970 + 719468; /* since 0000-03-01 */
    uint64_t era = days / 146097;
    uint64_t day_of_era = days % 146097;
    uint64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint64_t month_from_march = (5 * day_of_year + 2) / 153;
    unsigned month = (unsigned)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);

    return (struct civil_date){
        .year = (unsigned)(era * 400 + year_of_era) + (month <= 2 ? 1u : 0u),
        .month = month,
        .day = (unsigned)(day_of_year - (153 * month_from_march + 2) / 5 + 1),
    };
}

static char *put_pair(char *at, unsigned value, char after)
{
    memcpy(at, DIGIT_PAIRS + 2 * (value % 100), 2);
    at[2] = after;
    return at + 3;
}

void json_time(struct json_writer *writer, uint64_t wall_ns)
{
    unsigned ms = (unsigned)(wall_ns / 1000000 % 1000);
    uint64_t seconds = wall_ns / 1000000000; /* 64 bits of nanoseconds end in the year 2554 */
    unsigned second_of_day = (unsigned)(seconds % 86400);
    struct civil_date date = civil_date(seconds / 86400);
    char *at = reserve(writer, 1 + 2 + 24);

    if (at == NULL)
        return;
    at = put_comma(writer, at);
    *at++ = '"';
    memcpy(at, DIGIT_PAIRS + 2 * (date.year / 100), 2);
    at = put_pair(at + 2, date.year % 100, '-');
    at = put_pair(at, date.month, '-');
    at = put_pair(at, date.day, 'T');
    at = put_pair(at, second_of_day / 3600, ':');
    at = put_pair(at, second_of_day / 60 % 60, ':');
    at = put_pair(at, second_of_day % 60, '.');
    *at++ = (char)('0' + ms / 100);
    at = put_pair(at, ms % 100, 'Z');
    *at++ = '"';
    written(writer, at, true);
}

void json_reserve(struct json_writer *writer, size_t bytes)
{
    (void)reserve(writer, bytes);
}

void json_give(struct json_writer *writer, char *text, size_t length, size_t capacity)
{
    writer->text = text;
    writer->length = length;
    writer->capacity = capacity;
}

int json_take(struct json_writer *writer, char **ret_text, size_t *ret_length)
{
    struct json_writer rest = {.depth = writer->depth, .comma = writer->comma};
    int status = json_finish(writer, ret_text, ret_length);

    *writer = rest;
    writer->failed = status < 0;
    return status;
}

int json_finish(struct json_writer *writer, char **ret_text, size_t *ret_length)
{
    if (reserve(writer, 0) == NULL) {
        json_done(writer);
        return -ENOMEM;
    }
    writer->text[writer->length] = '\0';
    *ret_text = writer->text;
    *ret_length = writer->length;
    memset(writer, 0, sizeof(*writer));
    return 0;
}
