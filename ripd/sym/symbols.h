/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - what places in modules are called, found out by a process of its own, off everybody's way.
 *
 * Whoever shows a place asks symbols_want() for it; the answer appears in the module's symbol table (cases/symbol.h)
 * when it is there. One thread of this takes the questions in turn, opens files, and talks to the symbolizer.
 *
 * Guarantees
 *   A. symbols_want() never waits and never fails: what cannot be asked now is counted, and may be asked again.
 *   B. A name is of the very file that the process has mapped: the same device and inode as the kernel names them, or
 *      the same build id. Where neither can be checked nothing is named.
 *   C. A file is read on behalf of a ring only if the symbolizer, which has no privilege, may read it, or if a process
 *      that is the ring owner's own has it mapped, or may read it: a ring cannot make ripd read what its owner may not.
 *   D. A symbolizer that dies, hangs or talks nonsense is replaced; the file it did so on is tried once more, then not
 *      again; the user whose ring named it pauses, others go on.
 *   E. symbols_free() does not wait for an answer, and no longer than SYMBOLS_STOP_NS for the thread, which may be in
 *      the kernel over a file or a process that does not answer. What it has goes when it comes back; it calls nobody.
 *   F. What files make of their names is bounded, for each file, each user and in all: see cases/symbol.h. Where it is
 *      reached places stay without names, and symbolizers are not bothered with them.
 */
#ifndef RIPD_SYM_SYMBOLS_H
#define RIPD_SYM_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "os/lease.h"

#define SYMBOLS_FILES_MAX 4096u
#define SYMBOLS_STRIKES_MAX 2u /* a file that has ended so many symbolizers is not tried again */
#define SYMBOLS_HASTE 4u       /* a user whose file did so is waited for by so much less */
#define SYMBOLS_STOP_NS UINT64_C(4000000000)

/* Why a symbolizer ended; the words are those of the log and of metrics. */
#define SYMBOLS_ENDING_TABLE(X)                                                                                        \
    X(DIED, "died")         /* in the middle of a question */                                                          \
    X(HUNG, "hung")         /* did not answer in time, or did nothing for too long */                                  \
    X(NONSENSE, "nonsense") /* answered what cannot be an answer */                                                    \
    X(IDLE, "idle")         /* while nothing was asked: somebody killed it */

enum symbols_ending {
#define X(name, text) SYMBOLS_ENDING_##name,
    SYMBOLS_ENDING_TABLE(X)
#undef X
        SYMBOLS_ENDING_COUNT
};

/* Static strings. */
const char *symbols_ending_name(enum symbols_ending ending);

/* Told as it happens. */
struct symbols_trouble {
    int error;                  /* it could not be started: a negative errno; 0: it ended */
    enum symbols_ending ending; /* where error is 0 */
    const char *path;           /* file that it was asked about, any bytes; NULL where it was none */
    bool given_up;              /* the file is not tried again */
};

struct symbols_options {
    const char *program;   /* the symbolizer's executable */
    const char *proc_path; /* "/proc" */
    uint64_t answer_ns;    /* how long it may take for one answer */
    uint64_t still_ns;     /* how long it may do nothing at all meanwhile */
    struct hash_key hash_key;
    uint64_t restart_ns; /* pause of the user whose file ended a symbolizer; and after a start that failed */
    /*
     * Opens the file of a module that is not to be had otherwise; NULL: nobody does. The process is attested; ring is
     * not NULL. A descriptor; -EAGAIN: not now; another -errno: there is none. On the thread of this, which waits; ends
     * soon after cancel is readable.
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
    uint64_t refused_count; /* questions not taken: too many wait, or their user pauses, or there is no symbolizer */
    uint64_t unkept_count;  /* likewise: names of their file, of their user, or of all, take too much memory */
    uint64_t started_count; /* symbolizers started */
    uint64_t ended_counts[SYMBOLS_ENDING_COUNT];
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

/* Whether no question waits that could be answered now. */
bool symbols_are_idle(struct symbols *symbols);

void symbols_count(struct symbols *symbols, struct symbols_counters *ret_counters);

#endif
