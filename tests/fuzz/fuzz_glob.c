/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_glob.c - a pattern, a newline, and a name: the automaton agrees with a backtracking matcher that follows the
 * definition.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "util/glob.h"

#define PATTERN_BYTES 271u

/* Returns the ']' that ends the class at pattern, or NULL if it is not a class. */
static const char *class_end(const char *pattern)
{
    const char *at = pattern + 1;

    at += *at == '!';
    at += *at == ']';
    while (*at && *at != ']')
        at += *at == '\\' && at[1] ? 2 : 1;
    return *at ? at : NULL;
}

static int class_has(const char *at, const char *end, unsigned char byte)
{
    const int negated = *++at == '!';
    int found = 0;

    at += negated;
    while (at < end) {
        unsigned char low, high;

        at += *at == '\\';
        low = high = (unsigned char)*at++;
        if (*at == '-' && at + 1 < end) {
            at++;
            at += *at == '\\';
            high = (unsigned char)*at++;
        }
        found |= low <= byte && byte <= high;
    }
    return found != negated;
}

static int takes(const char **pattern, unsigned char byte)
{
    const char *at = *pattern, *end = *at == '[' ? class_end(at) : NULL;
    const int quoted = *at == '\\' && at[1];

    if (end) {
        *pattern = end + 1;
        return class_has(at, end, byte);
    }
    *pattern = at + 1 + quoted;
    return (*at == '?' && !quoted) || (unsigned char)at[quoted] == byte;
}

static int by_definition(const char *pattern, const unsigned char *text, size_t text_bytes)
{
    const char *star = NULL, *next;
    size_t star_at = 0, i = 0;

    while (i < text_bytes) {
        next = pattern;
        if (*pattern == '*') {
            star = ++pattern;
            star_at = i;
        } else if (*pattern && takes(&next, text[i])) {
            pattern = next;
            i++;
        } else if (star) {
            pattern = star;
            i = ++star_at;
        } else {
            return 0;
        }
    }
    return strspn(pattern, "*") == strlen(pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    const uint8_t *newline = size_bytes ? memchr(bytes, '\n', size_bytes) : NULL;
    unsigned char *text; /* of the exact size, so that reading one byte too far is detected */
    size_t text_bytes, pattern_bytes;
    struct glob glob;
    char *pattern;

    if (!newline)
        return 0;
    pattern_bytes = (size_t)(newline - bytes) < PATTERN_BYTES ? (size_t)(newline - bytes) : PATTERN_BYTES;
    text_bytes = size_bytes - (size_t)(newline + 1 - bytes);
    text_bytes = text_bytes < RIP_NAME_BYTES ? text_bytes : RIP_NAME_BYTES;
    pattern = strndup((const char *)bytes, pattern_bytes);
    text = malloc(text_bytes ? text_bytes : 1);
    if (pattern && text) {
        memcpy(text, newline + 1, text_bytes);
        glob_make(&glob, pattern);
        require(glob_matches(&glob, text, text_bytes) == by_definition(pattern, text, text_bytes));
    }
    free(pattern);
    free(text);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const char *const seeds[] = {
        "worker-*[0-9]\nworker-17", "*a*b?[!a-c\\]x]*\naabbxd]", "[]a-]\\*\\\\[\n]*\\[", "**a**\nbab", "*[!\n\377x[",
    };

    return fuzz_text(seeds, sizeof(seeds) / sizeof(seeds[0]), number, ret_bytes, capacity_bytes);
}
