/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - headings, fields, trees and lists, for a terminal or as Markdown for a ticket.
 *
 * Guarantees
 *   A. What is shown is harmless: on a terminal as text.h has it, and in Markdown each text is a code span that it
 *      cannot end, so that nothing in it is markup, a link or a mention.
 *   B. Nothing is cut: evidence is only worth something whole.
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
    bool begun; /* something has been printed: blank lines go between sections */
};

/* On standard output; set the stream and the style for another place. */
void report_init(struct report *report, bool markdown);

/* What the report is about: a sentence. */
void report_title(struct report *report, const struct table_cell *text);
/* A heading of our own words, with a blank line before it. */
void report_section(struct report *report, const char *words);
/* A line "name: text". Nothing if the cell is empty. */
void report_field(struct report *report, const char *name, const struct table_cell *text);
/* The same of a text. */
__attribute__((format(printf, 3, 4))) void report_text(struct report *report, const char *name, const char *format,
                                                       ...);
/* The same of an item, each by the title and the text of a column; of a member that is an array a line each. */
void report_fields(struct report *report, const json_t *item, const struct table_column *fields, size_t count);
/* A line of a tree, `depth` steps from its root. */
void report_node(struct report *report, unsigned depth, const struct table_cell *text);
/* A line of a list. */
void report_line(struct report *report, const struct table_cell *text);

#endif
