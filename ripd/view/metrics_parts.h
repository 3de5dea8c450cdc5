/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_parts.h - what the table of metrics takes from other files. Private to view/metrics*.c. */
#ifndef RIPD_VIEW_METRICS_PARTS_H
#define RIPD_VIEW_METRICS_PARTS_H

#include <string.h>

#include "view/metrics.h"

/* The number at an offset in a value. */
static inline uint64_t metric_field(const void *value, size_t offset)
{
    uint64_t number;

    memcpy(&number, (const char *)value + offset, sizeof(number));
    return number;
}

/* metrics_rings.c */
metric_writer metrics_write_rings;
metric_writer metrics_write_dead_rings;
metric_writer metrics_write_processes;
metric_writer metrics_write_fill;
metric_writer metrics_write_refused;

#endif
