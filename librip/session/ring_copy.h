/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_copy.h - a ring copied out of its file, as often as asked, to be read through rip/reader.h without a handler for
 * SIGBUS. Touches one descriptor and the address space.
 *
 * Guarantees
 *   A. What is copied is what the ring's bitmaps, high-water marks and log vouch for: no hole of the file is filled,
 *      and the copy takes memory in proportion to the file's. A file that is cut, grows or changes harms nobody.
 *   B. An id is in a copy once: as live, or as ended. If its ring keeps the log, and no more ids than that holds ended
 *      meanwhile, ended_snap_count and the progress of the live ids make up all snaps of the ids in the copy;
 *      otherwise ended_settled is 0.
 *   C. No entry of a copy is taken for another: of a slot that changes faster than it can be copied there are none.
 */
#ifndef RIP_SESSION_RING_COPY_H
#define RIP_SESSION_RING_COPY_H

#include "rip/reader.h"

struct ring_copy {
    int descriptor; /* the caller's */
    unsigned char *bytes;
    uint64_t size_bytes; /* of address space; memory is taken for what is copied */
    unsigned char *scratch;
    uint64_t ended_next;  /* ids that ended before are not copied again */
    uint32_t script_next; /* functions of scripts before this one never change, and are not copied again */
    uint64_t budget_bytes;
    struct rip_view view; /* of the copy */
    const char *reason;   /* why the last function failed: a static phrase */
};

/* Judges the header; nothing else is copied. 0; -EINVAL: no ring; -EPROTONOSUPPORT; -EBADMSG; -ENOMEM; -errno. The
 * reason is set; there is nothing to close then. */
int ring_copy_open(struct ring_copy *ret_copy, int descriptor);
void ring_copy_close(struct ring_copy *copy);

/* Copies what is there now. -EBADMSG: it cannot be read any more, with the reason; or -errno. */
int ring_copy_take(struct ring_copy *copy);

#endif
