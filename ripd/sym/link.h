/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - a running symbolizer, and one question and its answer at a time. For ripd/sym alone.
 *
 * Guarantees
 *   A. The process is started with an empty environment and no descriptor but its end of the link and standard error.
 *   B. No call takes longer than its limit; one that runs into it ends the process, as does nonsense.
 *   C. A process that was ended is waited for briefly. One that the kernel does not let go (it reads from a disk that
 * is gone) is reaped later, and there are at most LINK_LEAVING_MAX of them.
 */
#ifndef RIPD_SYM_LINK_H
#define RIPD_SYM_LINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "sym/protocol.h"

#define LINK_LEAVING_MAX 4u
#define LINK_START_NS UINT64_C(10000000000) /* a symbolizer says that it is ready within this */

struct sym_link {
    pid_t pid;       /* 0 = none runs */
    int descriptor;  /* -1 = none */
    clockid_t clock; /* CPU time of the process */
    pid_t leaving[LINK_LEAVING_MAX];
    size_t leaving_count;
    unsigned char *packet; /* SYM_PACKET_BYTES */
};

/* How long an answer may take. */
struct link_patience {
    uint64_t answer_ns;
    uint64_t still_ns; /* in which the process uses no CPU time at all; 0 = any */
    int cancel;        /* once this is readable, every call ends with -ECANCELED; -1 = none */
};

int link_init(struct sym_link *ret_link); /* starts nothing */
void link_done(struct sym_link *link);

/* Returns once the symbolizer is ready; -EPROTO: it is not, and has ended; -EAGAIN: too many are leaving; -ECANCELED.
 */
int link_start(struct sym_link *link, const char *program, const struct link_patience *patience);
void link_stop(struct sym_link *link); /* kills it */

/*
 * descriptor may be -1, and stays the caller's. 0 or the symbolizer's answer, a negative errno; -EPIPE: it ended;
 * -ETIMEDOUT: it hung; -EBADMSG: it talked nonsense; -ENOTCONN: it had gone before it was asked; -ECANCELED. After
 * these five it has been stopped.
 */
int link_open(struct sym_link *link, const struct sym_open *message, int descriptor,
              const struct link_patience *patience);
/* The same; 0 and a new symbol; -ENOENT: the file is not open. */
int link_look(struct sym_link *link, uint64_t key, uint64_t offset, const struct link_patience *patience,
              struct symbol **ret_symbol);

#endif
