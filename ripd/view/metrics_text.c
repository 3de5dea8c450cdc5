/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_text.c - the lines of the Prometheus text format. Pure; guarantees in the header. */
#include "view/metrics_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_bytes(struct metrics_text *text, const char *bytes, size_t length)
{
    if (text->full || text->capacity - text->length <= length) {
        text->full = true;
        return;
    }
    memcpy(text->text + text->length, bytes, length);
    text->length += length;
    text->text[text->length] = '\0';
}

static void put(struct metrics_text *text, const char *string)
{
    put_bytes(text, string, strlen(string));
}

/* The format knows three escapes. Any other byte that is not printable ASCII has no business in a label. */
static void put_escaped(struct metrics_text *text, const char *value)
{
    for (; *value != '\0'; value++) {
        switch (*value) {
        case '\\':
            put(text, "\\\\");
            break;
        case '"':
            put(text, "\\\"");
            break;
        case '\n':
            put(text, "\\n");
            break;
        default:
            put_bytes(text, *value >= ' ' && *value <= '~' ? value : "?", 1);
        }
    }
}

void metrics_text_number(char ret_text[METRIC_NUMBER_BYTES], uint64_t value, enum metric_unit unit)
{
    int digits = (int)unit;
    uint64_t whole, fraction, scale = 1;

    for (int i = 0; i < digits; i++)
        scale *= 10;
    whole = value / scale;
    fraction = value % scale;
    while (digits > 0 && fraction % 10 == 0) {
        fraction /= 10;
        digits--;
    }
    if (digits == 0)
        snprintf(ret_text, METRIC_NUMBER_BYTES, "%" PRIu64, whole);
    else
        snprintf(ret_text, METRIC_NUMBER_BYTES, "%" PRIu64 ".%0*" PRIu64, whole, digits, fraction);
}

void metrics_text_family(struct metrics_text *text, const char *name, const char *type, const char *help)
{
    put(text, "# HELP ");
    put(text, name);
    put(text, " ");
    put(text, help);
    put(text, "\n# TYPE ");
    put(text, name);
    put(text, " ");
    put(text, type);
    put(text, "\n");
}

void metrics_text_cut(struct metrics_text *text, size_t length)
{
    text->length = length;
    text->text[length] = '\0';
}

void metrics_text_sample(struct metrics_text *text, const char *name, const char *suffix,
                         const struct metric_label *labels, size_t label_count, uint64_t value, enum metric_unit unit)
{
    char number[METRIC_NUMBER_BYTES];

    put(text, name);
    put(text, suffix);
    for (size_t i = 0; i < label_count; i++) {
        put(text, i == 0 ? "{" : ",");
        put(text, labels[i].name);
        put(text, "=\"");
        put_escaped(text, labels[i].value);
        put(text, "\"");
    }
    metrics_text_number(number, value, unit);
    put(text, label_count == 0 ? " " : "} ");
    put(text, number);
    put(text, "\n");
}
