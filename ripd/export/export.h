/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - events in formats that other tools read. Pure: the caller's function writes the bytes.
 *
 *   CTF     Common Trace Format 1.8, one stream, for babeltrace2 and Trace Compass
 *   chrome  the Trace Event Format (JSON), for speedscope, Perfetto and chrome://tracing
 *   folded  one line per stack, for flamegraph.pl and speedscope
 *
 * Each exporter takes the events in order, and is finished after the last one. After the first failure, of memory or of
 * the caller, nothing is written any more.
 *
 * Guarantees
 *   A. Whatever the events are, the output is well-formed: names are clean, times do not go back.
 *   B. Memory is bounded by the ids that are alive at one time, names (cases/symbol.h), and FOLDED_STACKS_MAX.
 */
#ifndef RIPD_EXPORT_EXPORT_H
#define RIPD_EXPORT_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "replay/ids.h"

/* The caller's functions. Each gets the context. */
struct export_caller {
    void *context;
    int (*write)(void *context, const void *bytes, size_t count); /* returns 0 or -errno */
    /* Adds the name of a location to module->symbols if it can be found. NULL: there are no names. */
    void (*name_place)(void *context, struct module_facts *module, uint64_t offset);
};

/* The first member of each format's struct. */
struct exporter {
    const struct export_format *format;
    struct export_caller caller;
    struct replay_ids ids; /* after the events so far */
    uint64_t wall_ns;      /* of the latest event */
    int error;             /* -errno of the first failure: nothing is written after it */
};

struct export_format {
    size_t bytes; /* of its struct; all zero initially, after struct exporter */
    /* Called before and after an event is applied to the ids. NULL: nothing to do. */
    void (*before)(struct exporter *exporter, const struct rip_event *event);
    void (*after)(struct exporter *exporter, const struct rip_event *event);
    void (*finish)(struct exporter *exporter);
    void (*done)(struct exporter *exporter);
};

/* Returns NULL if out of memory. */
struct exporter *export_new(const struct export_format *format, const struct export_caller *caller);
void export_free(struct exporter *exporter); /* NULL is allowed */

/* export_take() takes the next event, export_finish() follows the last one. Return 0 or -errno. */
int export_take(struct exporter *exporter, const struct rip_event *event);
int export_finish(struct exporter *exporter);

extern const struct export_format export_ctf;
extern const struct export_format export_chrome;
extern const struct export_format export_folded;

/*
 * CTF has a second file: the metadata, a terminated text that describes the stream. The caller frees it. Returns NULL
 * if out of memory.
 */
char *export_ctf_metadata(void);

#define FOLDED_TRAIL 8u            /* most breadcrumbs in a stack */
#define FOLDED_STACKS_MAX 1000000u /* different ones; further ones are counted together */

#endif
