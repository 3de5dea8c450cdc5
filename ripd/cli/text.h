/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - text of unknown origin, made harmless for a terminal and fitted to a column.
 *
 * Guarantees
 *   A. The result holds no control character, no escape, no line break, and nothing that reorders the text around it:
 *      each such character is replaced by one replacement character.
 *   B. It takes at most the columns given. A text that was cut ends in "~".
 */
#ifndef RIP_CLI_TEXT_H
#define RIP_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_ANY_COLUMNS 100000u

struct text_style {
    bool utf8;        /* the output is read as UTF-8; else everything beyond ASCII is replaced */
    bool colours;     /* escape sequences may be written */
    unsigned columns; /* of the terminal; TEXT_ANY_COLUMNS: not a terminal, nothing is cut */
    unsigned rows;    /* of the terminal; 0: not a terminal */
};

/* How to write to standard output, from the locale, the terminal, NO_COLOR and TERM. */
struct text_style text_style_of_output(void);

/*
 * Writes text (UTF-8; other bytes are replaced) in at most columns_max columns, terminated, into ret_text. Returns the
 * columns taken.
 */
unsigned text_fit(const struct text_style *style, const char *text, size_t text_bytes, unsigned columns_max,
                  char *ret_text, size_t size);

#endif
