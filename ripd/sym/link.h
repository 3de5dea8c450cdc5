/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.h - a running symbolizer, and one question and its answer at a time. For ripd/sym alone.
 *
 * Guarantees
 *   A. The process is started with an empty environment and no descriptor but its end of the link and standard error.
 *   B. No call takes longer than its limit; one that runs into it ends the process, as does nonsense.
 */
#ifndef RIPD_SYM_LINK_H
#define RIPD_SYM_LINK_H

#include <stdint.h>
#include <sys/types.h>

#include "sym/protocol.h"

struct sym_link {
    pid_t pid;             /* 0 = none runs */
    int descriptor;        /* -1 = none */
    unsigned char *packet; /* SYM_PACKET_BYTES */
};

int link_init(struct sym_link *ret_link); /* starts nothing */
void link_done(struct sym_link *link);

int link_start(struct sym_link *link, const char *program);
void link_stop(struct sym_link *link); /* kills it, and waits for it */

/*
 * descriptor may be -1, and stays the caller's. 0 or the symbolizer's answer, a negative errno; -EPIPE: it is gone;
 * -ETIMEDOUT: it hung; -EBADMSG: it talked nonsense. After these three it has been stopped.
 */
int link_open(struct sym_link *link, const struct sym_open *message, int descriptor, uint64_t limit_ns);
/* The same; 0 and a new symbol; -ENOENT: the file is not open. */
int link_look(struct sym_link *link, uint64_t key, uint64_t offset, uint64_t limit_ns, struct symbol **ret_symbol);

#endif
