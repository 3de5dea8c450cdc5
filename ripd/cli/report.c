/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - see report.h. Prints on the stream of the report. */
#include "cli/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SHOWN_BYTES (TABLE_CELL_BYTES * 12)
#define NAME_COLUMNS 11
#define INDENT_COLUMNS 3u

void report_init(struct report *report, bool markdown)
{
    *report = (struct report){.stream = stdout, .style = text_style_of_output(), .markdown = markdown};
}

static size_t longest_run_of_backticks(const char *text)
{
    size_t longest = 0;

    for (; *text != '\0'; text++) {
        size_t run = strspn(text, "`");

        if (run > longest)
            longest = run;
        if (run > 1)
            text += run - 1;
    }
    return longest;
}

/* Prints a code span. It begins and ends with one more backtick than the longest run of backticks inside. */
static void print_text(const struct report *report, const struct table_cell *cell)
{
    char text[SHOWN_BYTES];

    text_fit(&report->style, cell->text, cell->bytes, TEXT_ANY_COLUMNS, text, sizeof(text));
    if (report->markdown) {
        size_t ticks = longest_run_of_backticks(text) + 1;
        const char *space = ticks > 1 ? " " : "";

        for (size_t i = 0; i < ticks; i++)
            fputc('`', report->stream);
        fprintf(report->stream, "%s%s%s", space, text, space);
        for (size_t i = 0; i < ticks; i++)
            fputc('`', report->stream);
        return;
    }
    if (cell->colour != NULL && report->style.colours)
        fprintf(report->stream, "%s%s\x1b[0m", cell->colour, text);
    else
        fputs(text, report->stream);
}

static void begin_section(struct report *report)
{
    if (report->begun)
        fputc('\n', report->stream);
    report->begun = true;
}

void report_title(struct report *report, const struct table_cell *text)
{
    begin_section(report);
    if (report->markdown)
        fputs("### ", report->stream);
    print_text(report, text);
    fputs(report->markdown ? "\n\n" : "\n", report->stream);
}

void report_section(struct report *report, const char *words)
{
    begin_section(report);
    fprintf(report->stream, report->markdown ? "**%s**\n\n" : "%s\n", words);
}

void report_field(struct report *report, const char *name, const struct table_cell *text)
{
    if (text->bytes == 0)
        return;
    if (report->markdown)
        fprintf(report->stream, "- %s: ", name);
    else
        fprintf(report->stream, "  %-*s ", NAME_COLUMNS, name);
    print_text(report, text);
    fputc('\n', report->stream);
}

void report_text(struct report *report, const char *name, const char *format, ...)
{
    struct table_cell cell = {.text = cell.made};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(cell.made, sizeof(cell.made), format, arguments);
    va_end(arguments);
    cell.bytes = strlen(cell.made);
    report_field(report, name, &cell);
}

void report_fields(struct report *report, const json_t *item, const struct table_column *fields, size_t count)
{
    struct table_cell cell;

    for (size_t i = 0; i < count; i++) {
        const struct table_column whole = {.fill = fields[i].fill};
        const json_t *value = table_member(item, fields[i].key);
        const bool several = json_is_array(value);

        for (size_t j = 0; j < (several ? json_array_size(value) : 1); j++) {
            table_cell_of(&cell, &whole, several ? json_array_get(value, j) : value, TEXT_ANY_COLUMNS);
            report_field(report, fields[i].title, &cell);
        }
    }
}

void report_node(struct report *report, unsigned depth, const struct table_cell *text)
{
    const char *branch = report->markdown     ? "- "
                         : depth == 0         ? ""
                         : report->style.utf8 ? "\xe2\x94\x94\xe2\x94\x80 "
                                              : "`- ";
    unsigned indent = report->markdown ? depth * 2 : 2 + (depth == 0 ? 0 : (depth - 1) * INDENT_COLUMNS);

    fprintf(report->stream, "%*s%s", (int)indent, "", branch);
    print_text(report, text);
    fputc('\n', report->stream);
}

void report_line(struct report *report, const struct table_cell *text)
{
    fputs(report->markdown ? "- " : "  ", report->stream);
    print_text(report, text);
    fputc('\n', report->stream);
}
