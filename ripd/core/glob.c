/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.c - patterns over the bytes of a name. Pure.
 *
 * Guarantees
 *   A. No recursion: on a mismatch only the last '*' is widened, by one byte. What an earlier star took never needs
 *      to change, so the time is at most pattern length times text length, whatever the pattern.
 *   B. Any pattern is a pattern: a '[' without its ']' and a '\' at the end stand for themselves.
 *   C. Bytes are compared as unsigned bytes; the text need not be terminated and may hold NUL.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/query.h"

/* The ']' that ends the class whose '[' is at pattern, or NULL. A ']' that comes first is a member. */
static const char *class_end(const char *pattern)
{
    const char *at = pattern + 1;

    if (*at == '!')
        at++;
    if (*at == ']')
        at++;
    for (; *at && *at != ']'; at++)
        if (*at == '\\' && at[1])
            at++;
    return *at ? at : NULL;
}

static unsigned char class_byte(const char **at)
{
    if (**at == '\\')
        (*at)++;
    return (unsigned char)*(*at)++;
}

static bool class_has(const char *pattern, const char *end, unsigned char byte)
{
    const char *at = pattern + 1;
    bool negated = *at == '!';
    bool found = false;

    if (negated)
        at++;
    while (at < end) {
        unsigned char low = class_byte(&at), high = low;

        if (*at == '-' && at + 1 < end) {
            at++;
            high = class_byte(&at);
        }
        found |= low <= byte && byte <= high;
    }
    return found != negated;
}

/* Matches byte with the element at *pattern, which is not '*'; moves *pattern behind it if so. */
static bool element_matches(const char **pattern, unsigned char byte)
{
    const char *at = *pattern;
    const char *end = *at == '[' ? class_end(at) : NULL;
    bool matches;

    if (!*at)
        return false;
    if (end) {
        matches = class_has(at, end, byte);
        at = end;
    } else if (*at == '?') {
        matches = true;
    } else {
        if (*at == '\\' && at[1])
            at++;
        matches = (unsigned char)*at == byte;
    }
    if (matches)
        *pattern = at + 1;
    return matches;
}

bool glob_matches(const char *pattern, const unsigned char *text, size_t text_bytes)
{
    const char *star = NULL;  /* behind the last star seen */
    size_t star_position = 0; /* where in the text what follows that star is tried */
    size_t i = 0;

    while (i < text_bytes) {
        if (*pattern == '*') {
            star = ++pattern;
            star_position = i;
        } else if (element_matches(&pattern, text[i])) {
            i++;
        } else if (star) {
            pattern = star;
            i = ++star_position;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
