/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - events in formats that other tools read. Pure: bytes go to a function of the caller's.
 *
 *   CTF     Common Trace Format 1.8, one stream, for babeltrace2 and Trace Compass
 *   chrome  the Trace Event Format (JSON), for speedscope, Perfetto and chrome://tracing
 *   folded  a line a stack, for flamegraph.pl and speedscope
 *
 * Each takes the events in order, also into the struct known, and finishes.
 *
 * Guarantees
 *   A. Whatever the events say, what is written is well-formed: names are clean, times do not go back.
 *   B. Memory is bounded by ids that live at one time, names (cases/symbol.h), and FOLDED_STACKS_MAX.
 */
#ifndef RIPD_EXPORT_EXPORT_H
#define RIPD_EXPORT_EXPORT_H

#include <stddef.h>

#include "export/known.h"
#include "rip/session.h"

struct export_output {
    void *context;
    int (*write)(void *context, const void *bytes, size_t count); /* 0 or -errno, which take() and finish() return */
};

/* What the struct of each format begins with. */
struct exporter {
    const struct export_format *format;
    struct export_output output;
    struct known *known; /* the caller's */
};

struct export_format {
    size_t bytes; /* of its struct, all zero at first behind struct exporter */
    int (*take)(struct exporter *exporter, const struct rip_event *event);
    int (*finish)(struct exporter *exporter);
    void (*done)(struct exporter *exporter);
};

/* NULL: no memory. */
struct exporter *export_new(const struct export_format *format, const struct export_output *output,
                            struct known *known);
void export_free(struct exporter *exporter); /* NULL is allowed */

extern const struct export_format export_ctf;
extern const struct export_format export_chrome;
extern const struct export_format export_folded;

/*
 * CTF has a file beside the stream: the metadata, a terminated text that says how the stream is to be read; the
 * caller's to free(). NULL: no memory.
 */
char *export_ctf_metadata(void);

#define FOLDED_TRAIL 8u            /* breadcrumbs of a stack, at most */
#define FOLDED_STACKS_MAX 1000000u /* different ones; what comes after those is counted as one */

#endif
