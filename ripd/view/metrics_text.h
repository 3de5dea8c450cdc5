/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics_text.h - the Prometheus text format, version 0.0.4: families, samples, labels, numbers. Pure.
 *
 * Guarantees
 *   A. Nothing is written beyond the buffer: what does not fit is left out, and `full` says so.
 *   B. Whatever bytes a label has, the sample stays one line of printable ASCII.
 *   C. Numbers are exact decimals, whatever the locale: no value goes through a floating-point number here.
 */
#ifndef RIPD_VIEW_METRICS_TEXT_H
#define RIPD_VIEW_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct metrics_text {
    char *text; /* terminated */
    size_t length;
    size_t capacity;
    bool full;
};

struct metric_label {
    const char *name;
    const char *value;
};

/* How many digits of a number lie behind the decimal point. */
enum metric_unit {
    METRIC_COUNT = 0,
    METRIC_SECONDS_OF_US = 6,
    METRIC_RATIO_OF_MILLIONTHS = 6,
    METRIC_SECONDS_OF_NS = 9
};

/* The two lines before the samples of a family. type: "counter", ... help: without a newline or a backslash. */
void metrics_text_family(struct metrics_text *text, const char *name, const char *type, const char *help);

/* One sample. suffix: "", or "_bucket" and the like of a histogram. */
void metrics_text_sample(struct metrics_text *text, const char *name, const char *suffix,
                         const struct metric_label *labels, size_t label_count, uint64_t value, enum metric_unit unit);

/* Back to an earlier length. */
void metrics_text_cut(struct metrics_text *text, size_t length);

/* A number alone, as the value of a label. 32 bytes are enough for any. */
#define METRIC_NUMBER_BYTES 32u
void metrics_text_number(char ret_text[METRIC_NUMBER_BYTES], uint64_t value, enum metric_unit unit);

#endif
