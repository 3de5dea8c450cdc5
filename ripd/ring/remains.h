/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remains.h - what a process that has ended left in its ring, as a ring of its own: its record, its modules and its
 * live ids, one behind the other, and those that ended last, in the log of such; and the functions of scripts that they
 * were in. rip/reader.h reads it as it reads any
 * ring.
 *
 * Guarantees
 *   A. No byte of another process is in it, but for the header of the ring.
 *   B. It has at most REMAINS_BYTES_MAX bytes. Ids for which that leaves no room are counted.
 *   C. Bytes are copied as they are, however hostile: who reads the remains believes them as little as the ring.
 */
#ifndef RIPD_RING_REMAINS_H
#define RIPD_RING_REMAINS_H

#include <stddef.h>
#include <stdint.h>

#include "ring/registry.h"

#define REMAINS_BYTES_MAX (24u << 20) /* 40,000 ids with notes, 60,000 without */

struct remains {
    unsigned char *bytes; /* the caller's, to be freed; aligned to a page */
    size_t byte_count;
    uint32_t id_count;       /* that live */
    uint32_t left_out_count; /* ids */
};

/* 0; -ENOENT: there is no such record; -EIO: the ring is damaged; -EFBIG: a slot of it takes too much; -ENOMEM. */
int remains_take(struct ring *ring, uint32_t process, struct remains *ret_remains);

#endif
