/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - names of places in modules, found out by a process of its own, while nobody waits.
 *
 * A view that shows a place calls symbols_want() for it; the answer appears in the module's symbol table
 * (cases/symbol.h) later. One thread of this takes the queries in turn, has files opened, and queries the symbolizer.
 *
 * Guarantees
 *   A. symbols_want() never waits and never fails: what cannot be asked now is counted, and may be asked again.
 *   B. A name is of the very file that the process has mapped: the same device and inode as the kernel names them, or
 *      the same build id. Where neither can be checked nothing is named.
 *   C. A file is read on behalf of a ring only if the symbolizer, which has no privilege, may read it, or if the
 *      fetcher (probe/fetch.h) opens it, which does so for processes of the ring's owner alone.
 *   D. A symbolizer that dies, hangs or answers nonsense is replaced. The file that it ended on is tried once more and
 *      then not again. The user whose ring named it pauses, longer each time; other users do not.
 *   E. The next query is of the user for whom least time was spent (work/work.h).
 *   F. What is known of a file is lasting; what a lack of descriptors, memory or time kept back is asked for again.
 *   G. symbols_free() does not wait for an answer.
 *   H. Names are bounded, for each file (cases/symbol.h), each user and in all (WORK_SYMBOL_BYTES). Where a bound is
 *      reached places stay without names, and symbolizers are not bothered with them.
 */
#ifndef RIPD_SYM_SYMBOLS_H
#define RIPD_SYM_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "os/child.h"
#include "os/lease.h"
#include "work/work.h"

#define SYMBOLS_FILES_MAX 4096u    /* then all are forgotten */
#define SYMBOLS_QUERIES_MAX 16384u /* of all users */
#define SYMBOLS_BYTES_MAX (UINT64_C(256) << 20)
#define SYMBOLS_STRIKES_MAX 2u /* a file that has ended so many symbolizers is not tried again */
#define SYMBOLS_HASTE 4u       /* a user whose file did so is waited for by so much less */

struct symbols_trouble {
    int error;          /* the symbolizer could not be started: -errno; */
    enum child_end end; /* 0: it ended */
    const char *path;   /* on this file, any bytes; NULL: on none */
    bool given_up;      /* the file is not tried again */
};

struct symbols_options {
    const char *program; /* the symbolizer's executable */
    uint64_t answer_ns;  /* how long it may take for one answer */
    uint64_t still_ns;   /* how long it may use no CPU time meanwhile */
    struct hash_key hash_key;
    const struct uid_range *ranges; /* as work_set_ranges() takes them; copied */
    size_t range_count;
    uint64_t restart_ns; /* pause of the user whose file ended a symbolizer; and after a start that failed */
    /*
     * Opens the file of a module; NULL: nobody does. The process is attested; ring is not NULL. A descriptor; -EAGAIN:
     * not now; another -errno: it is not to be had this way. On the thread of this, which waits; ends soon after cancel
     * is readable.
     */
    int (*fetch)(void *context, struct lease *ring, const struct process_facts *process,
                 const struct module_facts *module, int cancel);
    void (*idle)(void *context); /* nothing is left that could be answered now; on the thread of this, must not wait */
    void (*trouble)(void *context, const struct symbols_trouble *trouble); /* likewise */
    void *context;
};

/* Since the start, but for the last one. */
struct symbols_counters {
    uint64_t named_count;   /* places for which something was found */
    uint64_t unnamed_count; /* places for which nothing was */
    uint64_t refused_count; /* queries not taken or not answered: too many wait, or no symbolizer runs, or not now */
    uint64_t unkept_count;  /* likewise: names of their file, of their user, or of all, take too much memory */
    struct child_counters symbolizers;
    uint64_t kept_bytes; /* now: of all names */
};

struct symbols;

int symbols_new(struct symbols **ret_symbols, const struct symbols_options *options);
void symbols_free(struct symbols *symbols); /* NULL is allowed */

/*
 * Asks for a place, from any thread. process: who has it mapped, and ring: whose ring says so; or NULL. True: the
 * answer is on its way; false: it is in the table, or there will be none for now.
 */
bool symbols_want(struct symbols *symbols, struct lease *ring, struct process_facts *process,
                  struct module_facts *module, uint64_t offset);

/* Whether no query waits that could be answered now. */
bool symbols_are_idle(struct symbols *symbols);

void symbols_count(struct symbols *symbols, struct symbols_counters *ret_counters);

/* Of this module's own accounts (WORK_SYMBOL_QUERIES, WORK_SYMBOL_BYTES), as work_account(). */
bool symbols_account(struct symbols *symbols, size_t index, struct work_account *ret_account);

#endif
