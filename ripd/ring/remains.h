/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remains.h - copies what a process that has ended left in its ring into a ring of its own. The copy has the process's
 * record, its modules, its live ids, the ids that ended last (in the log of ended ids), and the script functions that
 * the ids were in. rip/reader.h reads it like any other ring.
 *
 * Guarantees
 *   A. It contains no byte of another process, except for the header of the ring.
 *   B. It has at most REMAINS_BYTES_MAX bytes. Ids that do not fit are counted.
 *   C. Bytes are copied as they are, even if hostile: readers must trust the remains as little as the ring.
 */
#ifndef RIPD_RING_REMAINS_H
#define RIPD_RING_REMAINS_H

#include <stddef.h>
#include <stdint.h>

#include "ring/registry.h"

#define REMAINS_BYTES_MAX (24u << 20) /* 40,000 ids with notes, 60,000 without */

struct remains {
    unsigned char *bytes; /* owned by the caller; aligned to a page */
    size_t byte_count;
    uint32_t id_count;       /* live ids */
    uint32_t left_out_count; /* ids */
};

/*
 * Returns 0, -ENOENT if there is no such record, -EIO if the ring is damaged, -EFBIG if a slot of it is too large, or
 * -ENOMEM.
 */
int remains_take(struct ring *ring, uint32_t process, struct remains *ret_remains);

#endif
