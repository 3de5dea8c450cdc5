/* SPDX-License-Identifier: Apache-2.0 */
/*
 * glob.c - compiles a pattern to an automaton whose states are the bits of a word, and matches names. Pure.
 *
 * All possible positions in the pattern are followed at once. A byte moves on each position whose element takes it, and
 * leaves positions at a star where they are. (Baeza-Yates and Gonnet, "A new approach to text searching", 1992.)
 */
#include "util/glob.h"

/*
 * Returns the ']' that ends the class whose '[' is at pattern, or NULL. A ']' that comes first is a member of the
 * class.
 */
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

static void take_class(struct glob *glob, uint64_t element, const char *pattern, const char *end)
{
    const char *at = pattern + 1;
    const bool negated = *at == '!';

    if (negated)
        at++;
    while (at < end) {
        unsigned low = class_byte(&at), high = low;

        if (*at == '-' && at + 1 < end) {
            at++;
            high = class_byte(&at);
        }
        for (unsigned byte = low; byte <= high; byte++)
            glob->takers[byte] |= element;
    }
    for (unsigned byte = 0; negated && byte < 256; byte++)
        glob->takers[byte] ^= element;
}

/* Enters the bytes that the element at pattern takes. The element is not '*'. Returns the rest of the pattern. */
static const char *take_element(struct glob *glob, uint64_t element, const char *pattern)
{
    const char *end = *pattern == '[' ? class_end(pattern) : NULL;

    if (end) {
        take_class(glob, element, pattern, end);
        return end + 1;
    }
    if (*pattern == '?') {
        for (unsigned byte = 0; byte < 256; byte++)
            glob->takers[byte] |= element;
        return pattern + 1;
    }
    if (*pattern == '\\' && pattern[1])
        pattern++;
    glob->takers[(unsigned char)*pattern] |= element;
    return pattern + 1;
}

void glob_make(struct glob *ret_glob, const char *pattern)
{
    uint64_t element = 1;

    *ret_glob = (struct glob){.end = 0};
    while (*pattern) {
        if (*pattern == '*') {
            ret_glob->stars |= element;
            pattern++;
        } else if (element >> GLOB_ELEMENTS_MAX) {
            return;
        } else {
            pattern = take_element(ret_glob, element, pattern);
            element <<= 1;
        }
    }
    ret_glob->end = element;
}

bool glob_matches(const struct glob *glob, const unsigned char *text, size_t text_bytes)
{
    uint64_t places = 1;

    for (size_t i = 0; i < text_bytes && places; i++)
        places = (places & glob->takers[text[i]]) << 1 | (places & glob->stars);
    return places & glob->end;
}
