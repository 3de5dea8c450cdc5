/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - finds names of places in modules, in a separate process and without blocking callers.
 *
 * A view that shows a place calls symbols_want(). The answer appears later in the module's symbol table
 * (cases/symbol.h). A thread of this module takes the queries in turn, has files opened, and queries the symbolizer.
 *
 * Guarantees
 *   A. symbols_want() never waits and never fails. A query that cannot be taken now is counted, and may be repeated.
 *   B. A name comes from the file that the process has mapped: it has the same device and inode according to the
 *      kernel, or the same build id. If neither can be checked, there is no name.
 *   C. A file is read on behalf of a ring only if the symbolizer, which has no privileges, may read it, or if the
 *      fetcher (probe/fetch.h) opens it. The fetcher does so only for processes of the ring's owner.
 *   D. A symbolizer that dies, hangs or sends nonsense is replaced. The file that it was reading is tried once more,
 *      then never again. The user whose ring named the file pauses, longer each time. Other users do not.
 *   E. The next query is of the user who has used the least time (work/work.h).
 *   F. What is known about a file is kept. A query that failed for lack of descriptors, memory or time is repeated.
 *   G. symbols_free() does not wait for an answer.
 *   H. Names are limited for each file (cases/symbol.h), each user and in total (WORK_SYMBOL_BYTES). When a limit is
 *      reached, places stay without names, and the symbolizer is not queried.
 */
#ifndef RIPD_SYM_SYMBOLS_H
#define RIPD_SYM_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "os/child.h"
#include "os/lease.h"
#include "work/work.h"

#define SYMBOLS_FILES_MAX 4096u    /* more than that: all are forgotten */
#define SYMBOLS_QUERIES_MAX 16384u /* of all users together */
#define SYMBOLS_BYTES_MAX (UINT64_C(256) << 20)
#define SYMBOLS_STRIKES_MAX 2u     /* a file is given up after it has ended this many symbolizers */
#define SYMBOLS_TIMEOUT_DIVISOR 4u /* the timeout is divided by this for a user whose file ended one */

struct symbols_trouble {
    int error;          /* the symbolizer could not be started: -errno; 0 = it ended */
    enum child_end end; /* how it ended */
    const char *path;   /* the file it was reading, any bytes; NULL = none */
    bool given_up;      /* the file will not be tried again */
};

struct symbols_options {
    const char *program; /* path of the symbolizer */
    uint64_t answer_ns;  /* timeout of an answer */
    uint64_t still_ns;   /* timeout if it uses no CPU time meanwhile */
    struct hash_key hash_key;
    const struct uid_range *ranges; /* as for work_set_ranges(); copied */
    size_t range_count;
    uint64_t restart_ns; /* pause after a failed start, and of a user whose file ended a symbolizer */
    /*
     * Opens the file of a module. May be NULL. The process is attested, and ring is not NULL. Returns a descriptor,
     * -EAGAIN if it is not possible now, or another -errno if the file cannot be opened this way. Called on the thread
     * of this module, which waits. Must return soon after cancel becomes readable.
     */
    int (*fetch)(void *context, struct lease *ring, const struct process_facts *process,
                 const struct module_facts *module, int cancel);
    void (*idle)(void *context); /* no query is left that could be answered now; on that thread, must not block */
    void (*trouble)(void *context, const struct symbols_trouble *trouble); /* on that thread, must not block */
    void *context;
};

/* Since the start, except kept_bytes. */
struct symbols_counters {
    uint64_t named_count;   /* places for which something was found */
    uint64_t unnamed_count; /* places for which nothing was found */
    uint64_t refused_count; /* queries dropped: too many wait, no symbolizer runs, or not possible now */
    uint64_t unkept_count;  /* queries dropped: the names of the file, the user, or all take too much memory */
    struct child_counters symbolizers;
    uint64_t kept_bytes; /* now: memory of all names */
};

struct symbols;

int symbols_new(struct symbols **ret_symbols, const struct symbols_options *options);
void symbols_free(struct symbols *symbols); /* NULL is allowed */

/*
 * Asks for the name of a place. Can be called from any thread. process is the process that has the module mapped, and
 * ring is the ring that says so. Both may be NULL. Returns true if the query waits for its answer, and false if the
 * answer is in the table, or there will be none for now.
 */
bool symbols_want(struct symbols *symbols, struct lease *ring, struct process_facts *process,
                  struct module_facts *module, uint64_t offset);

/* Returns true if no query waits that could be answered now. */
bool symbols_are_idle(struct symbols *symbols);

void symbols_count(struct symbols *symbols, struct symbols_counters *ret_counters);

/* Like work_account(), for this module's own accounts (WORK_SYMBOL_QUERIES, WORK_SYMBOL_BYTES). */
bool symbols_account(struct symbols *symbols, size_t index, struct work_account *ret_account);

#endif
