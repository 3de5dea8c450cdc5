/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - characters as a terminal may have them. Touches the locale, the environment and standard output's terminal.
 */
#include "cli/text.h"

#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define REPLACEMENT 0xfffdu
#define COLUMNS_USUAL 80u

struct text_style text_style_of_output(void)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    struct text_style style = {.columns = TEXT_ANY_COLUMNS};
    struct winsize size;

    setlocale(LC_CTYPE, "");
    style.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (!isatty(STDOUT_FILENO))
        return style;
    style.colours = (no_colour == NULL || no_colour[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0;
    style.columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : COLUMNS_USUAL;
    return style;
}

/* The character at text[*at], strictly; *at goes behind it. */
static uint32_t next_character(const unsigned char *text, size_t bytes, size_t *at)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = text[*at];
    unsigned length = first < 0x80 ? 1 : first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    uint32_t character = length == 1 ? first : length != 0 ? first & (0x7fu >> length) : 0;

    if (length == 0 || first >= 0xf8 || *at + length > bytes) {
        (*at)++;
        return REPLACEMENT;
    }
    for (unsigned i = 1; i < length; i++) {
        if ((text[*at + i] & 0xc0) != 0x80) {
            (*at)++;
            return REPLACEMENT;
        }
        character = character << 6 | (text[*at + i] & 0x3fu);
    }
    *at += length;
    if (character < least[length] || character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        return REPLACEMENT;
    return character;
}

/* Ranges that move what stands around them, or are lines of their own, or cannot be seen. */
static const struct {
    uint32_t first;
    uint32_t last;
} unfit[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f}, {0x00ad, 0x00ad}, {0x061c, 0x061c}, {0x180e, 0x180e},   {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

static uint32_t fit_character(const struct text_style *style, uint32_t character)
{
    if (character >= 0x20 && character < 0x7f)
        return character;
    for (size_t i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++)
        if (character >= unfit[i].first && character <= unfit[i].last)
            return style->utf8 ? REPLACEMENT : '?';
    if (!style->utf8)
        return '?';
    return wcwidth((wchar_t)character) < 0 ? REPLACEMENT : character;
}

static unsigned width_of(uint32_t character)
{
    int width = wcwidth((wchar_t)character);

    return character < 0x7f || width < 0 ? 1 : (unsigned)width;
}

static size_t put_character(uint32_t character, char out[4])
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        out[0] = (char)(0xc0 | character >> 6);
        out[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        out[0] = (char)(0xe0 | character >> 12);
        out[1] = (char)(0x80 | (character >> 6 & 0x3f));
        out[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | character >> 18);
    out[1] = (char)(0x80 | (character >> 12 & 0x3f));
    out[2] = (char)(0x80 | (character >> 6 & 0x3f));
    out[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

unsigned text_fit(const struct text_style *style, const char *text, size_t text_bytes, unsigned columns_max,
                  char *ret_text, size_t size)
{
    size_t at = 0, used = 0, cut_at = 0; /* cut_at: where "~" would go */
    unsigned columns = 0, cut_columns = 0;

    while (at < text_bytes) {
        char bytes[4];
        uint32_t character = fit_character(style, next_character((const unsigned char *)text, text_bytes, &at));
        size_t length = put_character(character, bytes);
        unsigned width = width_of(character);

        if (columns + width > columns_max || used + length + 2 > size) {
            used = cut_at;
            columns = cut_columns;
            if (columns_max > 0 && size > used + 1) {
                ret_text[used++] = '~';
                columns++;
            }
            break;
        }
        memcpy(ret_text + used, bytes, length);
        used += length;
        columns += width;
        if (columns < columns_max) {
            cut_at = used;
            cut_columns = columns;
        }
    }
    ret_text[used] = '\0';
    return columns;
}
