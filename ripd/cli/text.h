/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - text of unknown origin, made fit for a terminal and for a column.
 *
 * Guarantees
 *   A. What comes out holds no control character, no escape, no line break, and nothing that reorders what stands
 * around it: each such character is shown as one replacement character. B. It takes at most the columns it is given;
 * what was cut ends in "~".
 */
#ifndef RIP_CLI_TEXT_H
#define RIP_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define TEXT_ANY_COLUMNS 100000u

struct text_style {
    bool utf8;        /* what is shown is read as UTF-8; else everything beyond ASCII is replaced */
    bool colours;     /* escape sequences of ours */
    unsigned columns; /* of the terminal; TEXT_ANY_COLUMNS: no terminal, nothing is cut */
};

/* How standard output is to be written to, from the locale, the terminal, NO_COLOR and TERM. */
struct text_style text_style_of_output(void);

/*
 * Writes text (UTF-8; what is not is replaced) in at most columns_max columns, terminated, into ret_text. Returns the
 * columns taken.
 */
unsigned text_fit(const struct text_style *style, const char *text, size_t text_bytes, unsigned columns_max,
                  char *ret_text, size_t size);

#endif
