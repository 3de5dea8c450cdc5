/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - decodes, replaces and cuts. Touches the locale, the environment and the terminal of standard output. */
#include "cli/text.h"

#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "util/array.h"
#include "util/text.h"

#define REPLACEMENT "\xef\xbf\xbd"
#define COLUMNS_DEFAULT 80u
#define ROWS_DEFAULT 24u

struct text_style text_style_of_output(void)
{
    const char *term = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    struct text_style style = {.columns = TEXT_ANY_COLUMNS};
    struct winsize size = {.ws_col = 0};

    setlocale(LC_CTYPE, "");
    style.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (!isatty(STDOUT_FILENO))
        return style;
    style.colours = (no_colour == NULL || no_colour[0] == '\0') && term != NULL && strcmp(term, "dumb") != 0;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        size.ws_col = size.ws_row = 0;
    style.columns = size.ws_col != 0 ? size.ws_col : COLUMNS_DEFAULT;
    style.rows = size.ws_row != 0 ? size.ws_row : ROWS_DEFAULT;
    return style;
}

/* Ranges of invisible characters, in addition to control characters: text_is_control(). */
static const struct {
    uint32_t first;
    uint32_t last;
} unseen[] = {
    {0x00ad, 0x00ad}, {0x180e, 0x180e}, {0x200b, 0x200d},   {0x2060, 0x206f},
    {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
};

static bool is_fit(const struct text_style *style, uint32_t character)
{
    if (!style->utf8)
        return character >= 0x20 && character < 0x7f;
    for (size_t i = 0; i < ARRAY_COUNT(unseen); i++)
        if (character >= unseen[i].first && character <= unseen[i].last)
            return false;
    return !text_is_control(character) && wcwidth((wchar_t)character) >= 0;
}

unsigned text_fit(const struct text_style *style, const char *text, size_t text_bytes, unsigned columns_max,
                  char *ret_text, size_t size)
{
    const char *replacement = style->utf8 ? REPLACEMENT : "?";
    size_t at = 0, used = 0, cut_at = 0; /* cut_at: position for "~" */
    unsigned columns = 0, cut_columns = 0;

    while (at < text_bytes) {
        const char *shown = text + at;
        uint32_t character;
        size_t length = text_character(shown, text_bytes - at, &character);
        unsigned width = 1;

        at += length;
        if (!is_fit(style, character)) {
            shown = replacement;
            length = strlen(replacement);
        } else if (style->utf8) {
            width = (unsigned)wcwidth((wchar_t)character);
        }
        if (columns + width > columns_max || used + length + 2 > size) {
            used = cut_at;
            columns = cut_columns;
            if (columns_max > 0 && size > used + 1) {
                ret_text[used++] = '~';
                columns++;
            }
            break;
        }
        memcpy(ret_text + used, shown, length);
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
