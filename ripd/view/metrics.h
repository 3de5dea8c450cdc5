/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - the metrics for Prometheus. Their table is in metrics.c; tests compare documents, rules and dashboards
 * with it.
 *
 * Guarantees
 *   A. The number of series is constant: no id, name, ring or address is a label. Label values are those of the tables
 *      of detect/ and cases/. All of them are always present, so that rates and absent() work.
 *   B. A value that is not known is left out: before the first scan, everything that only a scan can measure. Counters
 *      are present from the start, with 0.
 *   C. The text is never longer than METRICS_BYTES_MAX.
 */
#ifndef RIPD_VIEW_METRICS_H
#define RIPD_VIEW_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "cases/health.h"
#include "cases/snapshot.h"

#define METRICS_BYTES_MAX 32768u
#define METRIC_CAUSE_NONE "unexamined" /* the label of stalls that have not been examined yet */
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_input {
    const struct snapshot *snapshot;      /* NULL before the first scan */
    const struct health_http *http;       /* NULL: not known */
    const struct health_process *process; /* NULL: not known */
    uint64_t now_mono_ns;
};

/* The number of digits after the decimal point. */
enum metric_unit {
    METRIC_COUNT = 0,
    METRIC_SECONDS_OF_US = 6,
    METRIC_RATIO_OF_MILLIONTHS = 6,
    METRIC_SECONDS_OF_NS = 9
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metrics_text;

struct metric {
    const char *name; /* with the unit last, except for _total */
    enum metric_type type;
    enum metric_unit unit;
    const char *labels; /* names, separated by ", "; "" = none */
    const char *help;
    void (*put)(struct metrics_text *text); /* writes its samples, or nothing if they are not known */
    size_t field;                           /* which value, for the writer: an offset in a struct, or an enum */
};

/* The table; the manual page is made from it. */
extern const struct metric metrics[];
extern const size_t metrics_count;

const char *metric_type_name(enum metric_type type); /* static */

/*
 * Returns 0 and a text that the caller frees, -ENOMEM, or -ENOBUFS if the text would exceed METRICS_BYTES_MAX, which no
 * values cause.
 */
int metrics_render(const struct metrics_input *input, char **ret_text, size_t *ret_length);

#endif
