/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - the metrics for Prometheus. Their table is in metrics.c; tests compare documents, rules and dashboards
 * with it.
 *
 * Guarantees
 *   A. The number of series is a constant of the program: no id, name, ring or address is a label. Label values are
 *      those of the tables of detect/ and cases/, and all of them are always there, so that rates and absent() work.
 *   B. What is not known is left out: before the first scan, everything that only a scan can know. Counters are there
 *      at once, from 0 on.
 *   C. The text is never longer than METRICS_BYTES_MAX.
 */
#ifndef RIPD_VIEW_METRICS_H
#define RIPD_VIEW_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "cases/health.h"
#include "cases/snapshot.h"

#define METRICS_BYTES_MAX 32768u
#define METRIC_CAUSE_NONE "unexamined" /* of stalls whose cause has not been looked for yet */
#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metrics_input {
    const struct snapshot *snapshot;      /* NULL before the first scan */
    const struct health_http *http;       /* NULL: not known */
    const struct health_process *process; /* NULL: not known */
    uint64_t now_mono_ns;
};

/* How many digits of a number lie behind the decimal point. */
enum metric_unit {
    METRIC_COUNT = 0,
    METRIC_SECONDS_OF_US = 6,
    METRIC_RATIO_OF_MILLIONTHS = 6,
    METRIC_SECONDS_OF_NS = 9
};

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metrics_text;

struct metric {
    const char *name; /* the unit last, but for _total */
    enum metric_type type;
    enum metric_unit unit;
    const char *labels; /* names, separated by ", "; "" = none */
    const char *help;
    void (*put)(struct metrics_text *text); /* its samples; nothing where they are not known */
    size_t field;                           /* which part of what the writer knows */
};

/* The table, for the manual page. */
extern const struct metric metrics[];
extern const size_t metrics_count;

const char *metric_type_name(enum metric_type type); /* static */

/* 0 and text that the caller frees, or -ENOMEM; -ENOBUFS, which no values lead to, if it were longer than C says. */
int metrics_render(const struct metrics_input *input, char **ret_text, size_t *ret_length);

#endif
