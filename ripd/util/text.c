/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - appending; blanks, numbers and lines; characters. Pure. */
#include "util/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/array.h"

void text_append(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

void text_make_printable(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
            *text = '?';
}

const char *text_skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

const char *text_skip_fields(const char *text, int count)
{
    if (text == NULL)
        return NULL;
    for (; count > 0; count--) {
        text = text_skip_blanks(text);
        text += strcspn(text, " \n");
    }
    return text_skip_blanks(text);
}

unsigned text_digit(char letter)
{
    if (letter >= '0' && letter <= '9')
        return (unsigned)(letter - '0');
    if (letter >= 'a' && letter <= 'f')
        return (unsigned)(letter - 'a') + 10;
    if (letter >= 'A' && letter <= 'F')
        return (unsigned)(letter - 'A') + 10;
    return UINT32_MAX;
}

static const char *parse_number(const char *text, unsigned base, uint64_t limit, uint64_t *ret_value)
{
    uint64_t value = 0;

    if (text == NULL)
        return NULL;
    text = text_skip_blanks(text);
    if (text_digit(*text) >= base)
        return NULL;
    for (unsigned digit = text_digit(*text); digit < base; digit = text_digit(*++text)) {
        if (digit > limit || value > (limit - digit) / base)
            return NULL;
        value = value * base + digit;
    }
    *ret_value = value;
    return text;
}

const char *text_decimal(const char *text, uint64_t limit, uint64_t *ret_value)
{
    return parse_number(text, 10, limit, ret_value);
}

const char *text_hex(const char *text, uint64_t limit, uint64_t *ret_value)
{
    return parse_number(text, 16, limit, ret_value);
}

const char *text_decimals(const char *text, uint64_t limit, uint64_t *ret_values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text = text_decimal(text, limit, &ret_values[i]);
    return text;
}

bool text_number(const char *text, uint64_t low, uint64_t high, uint64_t *ret_number)
{
    const char *end = text_digit(*text) <= 9 ? text_decimal(text, high, ret_number) : NULL;

    return end != NULL && *end == '\0' && *ret_number >= low;
}

bool text_hex_bytes(const char *text, void *ret_bytes, size_t count)
{
    for (uint8_t *at = ret_bytes; count > 0; count--, text += 2) {
        const unsigned high = text_digit(text[0]), low = high <= 15 ? text_digit(text[1]) : high;

        if (low > 15)
            return false;
        *at++ = (uint8_t)(high << 4 | low);
    }
    return true;
}

void text_put_hex(char *ret_text, const void *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";

    for (const uint8_t *at = bytes; count > 0; count--, at++) {
        *ret_text++ = digits[*at >> 4];
        *ret_text++ = digits[*at & 15];
    }
    *ret_text = '\0';
}

const char *text_next_line(const char *text)
{
    text = strchr(text, '\n');
    return text != NULL && text[1] != '\0' ? text + 1 : NULL;
}

const char *text_find_line(const char *text, const char *key)
{
    size_t length = strlen(key);

    while (text != NULL && strncmp(text, key, length) != 0)
        text = text_next_line(text);
    return text != NULL ? text + length : NULL;
}

bool text_is_control(uint32_t code)
{
    static const struct {
        uint32_t first;
        uint32_t last;
    } ranges[] = {
        {0x00, 0x1f},     /* C0 */
        {0x7f, 0x9f},     /* DEL and C1 */
        {0x61c, 0x61c},   /* Arabic letter mark */
        {0x200e, 0x200f}, /* direction marks */
        {0x2028, 0x202e}, /* line and paragraph separator, embeddings and overrides */
        {0x2066, 0x2069}, /* isolates */
    };

    for (size_t i = 0; i < ARRAY_COUNT(ranges); i++)
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    return false;
}

struct utf8_lead {
    size_t continuation_count;
    unsigned char second_low;
    unsigned char second_high;
};

/* Table 3-7 of the Unicode standard. continuation_count 0: not the first byte of a sequence. */
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

size_t text_character(const void *text, size_t length, uint32_t *ret_code)
{
    const unsigned char *bytes = text;
    struct utf8_lead lead = utf8_lead(bytes[0]);
    unsigned char low = lead.second_low;
    unsigned char high = lead.second_high;
    uint32_t code = bytes[0] & (0x3fu >> lead.continuation_count);
    size_t i;

    *ret_code = bytes[0] < 0x80 ? bytes[0] : TEXT_MALFORMED;
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
