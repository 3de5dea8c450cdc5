/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_copy.h - copies a ring out of its file, any number of times. The copy is read through rip/reader.h and needs no
 * SIGBUS handler. Touches one descriptor and the address space.
 *
 * Guarantees
 *   A. Only the parts that the ring's bitmaps, high-water marks and log mark as used are copied. No hole of the file is
 *      filled, and the memory of the copy is proportional to that of the file. A file that is truncated, grows or
 *      changes meanwhile does no harm.
 *   B. An id is in a copy once, as live or as ended. Then ended_snap_count and the progress of the live ids add up to
 *      all snaps of the ids in the copy. This needs a ring that keeps the log, and at most as many ends during the copy
 *      as the log holds; otherwise ended_settled is 0.
 *   C. An entry of a copy is never attributed to another snap. If a slot changes faster than it can be copied, its copy
 *      has no entries.
 */
#ifndef RIP_SESSION_RING_COPY_H
#define RIP_SESSION_RING_COPY_H

#include "rip/reader.h"

struct ring_copy {
    int descriptor; /* borrowed */
    unsigned char *bytes;
    uint64_t size_bytes; /* of address space; only pages that were copied use memory */
    unsigned char *scratch;
    uint64_t ended_next;   /* number of the next ended id to be copied */
    uint32_t script_next;  /* index of the first script function to be copied: earlier ones never change */
    uint64_t budget_bytes; /* that the current copy may still take */
    struct rip_view view;  /* of the copy */
    const char *reason;    /* why the last function failed: a static phrase that follows the path */
};

/*
 * Validates the header and copies nothing else. Returns 0; -EINVAL if the file is not a ring; -EPROTONOSUPPORT;
 * -EBADMSG; -ENOMEM; or -errno. On failure the reason is set and the copy needs no ring_copy_close().
 */
int ring_copy_open(struct ring_copy *ret_copy, int descriptor);
void ring_copy_close(struct ring_copy *copy);

/* Copies the present contents. Returns 0, -EBADMSG if the ring cannot be read any more, or -errno. Sets the reason. */
int ring_copy_take(struct ring_copy *copy);

#endif
