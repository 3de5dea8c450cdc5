/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - makes text of unknown origin harmless for a terminal and fits it to a column.
 *
 * Guarantees
 *   A. The result has no control character, no escape sequence, no line break, and nothing that reorders the text
 *      around it: each such character becomes one replacement character.
 *   B. It takes at most the given number of columns. A text that was cut ends in "~".
 */
#ifndef RIP_CLI_TEXT_H
#define RIP_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_ANY_COLUMNS 100000u

struct text_style {
    bool utf8;        /* the output is UTF-8; otherwise everything beyond ASCII is replaced */
    bool colours;     /* escape sequences may be written */
    unsigned columns; /* of the terminal; TEXT_ANY_COLUMNS: not a terminal, nothing is cut */
    unsigned rows;    /* of the terminal; 0: not a terminal */
};

/* Returns how to write to standard output, from the locale, the terminal, NO_COLOR and TERM. */
struct text_style text_style_of_output(void);

/*
 * Writes text (UTF-8; other bytes are replaced) into ret_text, terminated, in at most columns_max columns. Returns the
 * columns used.
 */
unsigned text_fit(const struct text_style *style, const char *text, size_t text_bytes, unsigned columns_max,
                  char *ret_text, size_t size);

#endif
