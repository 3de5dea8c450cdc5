/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - what places in modules are called, found out by a process of its own, off everybody's way.
 *
 * Whoever shows a place asks symbols_want() for it; the answer appears in the module's symbol table (core/symbol.h)
 * when it is there. One thread of this takes the questions in turn, opens files, and talks to the symbolizer.
 *
 * Guarantees
 *   A. symbols_want() never waits and never fails: what cannot be asked now is counted, and may be asked again.
 *   B. A name is of the very file that the process has mapped: the same device and inode as the kernel names them, or
 *      the same build id. Where neither can be checked nothing is named.
 *   C. A file is read on behalf of a ring only if the symbolizer, which has no privilege, may read it, or if a process
 *      that is the ring owner's own has it mapped: a ring cannot make ripd read what its owner may not.
 *   D. A symbolizer that dies, hangs or talks nonsense is replaced; the file it did so on is not tried again.
 */
#ifndef RIPD_SYM_SYMBOLS_H
#define RIPD_SYM_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/snapshot.h"

#define SYMBOLS_QUEUE_MAX 16384u
#define SYMBOLS_FILES_MAX 4096u

struct symbols_options {
    const char *program;         /* the symbolizer's executable */
    const char *proc_path;       /* "/proc" */
    uint64_t answer_ns;          /* how long it may take for one answer */
    uint64_t restart_ns;         /* between a symbolizer that ended and the next */
    void (*idle)(void *context); /* no question waits any more; called on the thread of this, must not wait; or NULL */
    void *context;
};

/* Since the start. */
struct symbols_counters {
    uint64_t named_count;   /* places for which something was found */
    uint64_t unnamed_count; /* places for which nothing was */
    uint64_t refused_count; /* questions not taken, because too many wait */
    uint64_t started_count; /* symbolizers started */
    uint64_t died_count;    /* that ended or talked nonsense */
    uint64_t hung_count;    /* that did not answer in time */
};

struct symbols;

int symbols_new(struct symbols **ret_symbols, const struct symbols_options *options);
void symbols_free(struct symbols *symbols); /* NULL is allowed */

/*
 * Asks for a place, from any thread. process: who has it mapped, or NULL. True: the answer is on its way; false: it is
 * in the table, or there will be none for now.
 */
bool symbols_want(struct symbols *symbols, struct process_facts *process, struct module_facts *module, uint64_t offset);

/* Whether no question waits. */
bool symbols_are_idle(struct symbols *symbols);

void symbols_count(struct symbols *symbols, struct symbols_counters *ret_counters);

#endif
