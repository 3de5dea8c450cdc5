/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - events in formats that other tools read. Pure: bytes go to a function of the caller's.
 *
 *   CTF     Common Trace Format 1.8, one stream, for babeltrace2 and Trace Compass
 *   chrome  the Trace Event Format (JSON), for speedscope, Perfetto and chrome://tracing
 *   folded  a line a stack, for flamegraph.pl and speedscope
 *
 * Each takes the events in order, and finishes. The first failure, of memory or of the caller, ends all writing.
 *
 * Guarantees
 *   A. Whatever the events say, what is written is well-formed: names are clean, times do not go back.
 *   B. Memory is bounded by ids that live at one time, names (cases/symbol.h), and FOLDED_STACKS_MAX.
 */
#ifndef RIPD_EXPORT_EXPORT_H
#define RIPD_EXPORT_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include "replay/ids.h"

/* What the caller does; each gets the context. */
struct export_caller {
    void *context;
    int (*write)(void *context, const void *bytes, size_t count); /* 0 or -errno */
    /* Adds the name of a place to module->symbols where it can be found out. NULL: there are no names. */
    void (*name_place)(void *context, struct module_facts *module, uint64_t offset);
};

/* What the struct of each format begins with. */
struct exporter {
    const struct export_format *format;
    struct export_caller caller;
    struct replay_ids ids; /* as of the events so far */
    uint64_t wall_ns;      /* of the latest event */
    int error;             /* -errno of what failed first: nothing is written any more */
};

struct export_format {
    size_t bytes; /* of its struct, all zero at first behind struct exporter */
    /* An event, before and after the ids are as it says; NULL: nothing is to be done. */
    void (*before)(struct exporter *exporter, const struct rip_event *event);
    void (*after)(struct exporter *exporter, const struct rip_event *event);
    void (*finish)(struct exporter *exporter);
    void (*done)(struct exporter *exporter);
};

/* NULL: no memory. */
struct exporter *export_new(const struct export_format *format, const struct export_caller *caller);
void export_free(struct exporter *exporter); /* NULL is allowed */

/* The next event; and after the last one. 0 or -errno. */
int export_take(struct exporter *exporter, const struct rip_event *event);
int export_finish(struct exporter *exporter);

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
