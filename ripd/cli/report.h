/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - headings, fields, trees and lists, for a terminal or as Markdown for a ticket.
 *
 * Guarantees
 *   A. The output is harmless: on a terminal as in text.h. In Markdown each text is a code span that the text cannot
 *      end, so that it contains no markup, link or mention.
 *   B. Nothing is cut, because incomplete evidence is worthless.
 */
#ifndef RIP_CLI_REPORT_H
#define RIP_CLI_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/table.h"
#include "cli/text.h"

struct report {
    FILE *stream;
    struct text_style style;
    bool markdown;
    bool begun; /* something was printed: sections are separated by blank lines */
};

/* Prints on standard output; set the stream and the style for other output. */
void report_init(struct report *report, bool markdown);

/* Prints a sentence: the subject of the report. */
void report_title(struct report *report, const struct table_cell *text);
/* Prints a heading, which is a literal of the program, with a blank line before it. */
void report_section(struct report *report, const char *words);
/* Prints a line "name: text", or nothing if the cell is empty. */
void report_field(struct report *report, const char *name, const struct table_cell *text);
/* The same for a formatted text. */
__attribute__((format(printf, 3, 4))) void report_text(struct report *report, const char *name, const char *format,
                                                       ...);
/*
 * The same for an item: each field has the title and the text of a column. A member that is an array gets a line per
 * element.
 */
void report_fields(struct report *report, const json_t *item, const struct table_column *fields, size_t count);
/* Prints a line of a tree, `depth` levels below its root. */
void report_node(struct report *report, unsigned depth, const struct table_cell *text);
/* Prints a line of a list. */
void report_line(struct report *report, const struct table_cell *text);

#endif
