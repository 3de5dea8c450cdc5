/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claims.c - what a ring says it holds, against the memory that its file has. Touches the bitmaps, and the file's
 * status.
 *
 * A read fault on a hole of a tmpfs mapping allocates the page: a file of a few pages whose bitmap calls four million
 * slots live would make its reader fill a gigabyte. Writers back a slot, a record and a module before they publish it,
 * and nothing takes that memory away again; so a ring whose claims exceed its memory is no writer's work.
 *
 * Guarantees
 *   1. The claims are counted before the file is asked: what is being registered meanwhile cannot look like a lie.
 *   2. Only tmpfs is asked: ramfs counts no blocks, and elsewhere reading a hole allocates nothing that lasts.
 *   3. What a lie can make a scan allocate is bounded by the memory that the file had, a page for each slot's bytes.
 */
#include "ring/claims.h"

#include <errno.h>

#include "os/sigbus.h"

/* As in mapping.c: one call of the reader between guard and unguard, and no local that changes. */
static int count_live(struct mapping *mapping, uint64_t *ret_count)
{
    if (mapping->damaged)
        return -EIO;
    if (SIGBUS_GUARD(mapping->base, mapping->size_bytes)) {
        *ret_count = rip_view_live_count(&mapping->view);
        sigbus_unguard();
        return 0;
    }
    mapping->damaged = true;
    return -EIO;
}

int claims_check(struct mapping *mapping, const struct rip_ring_info *info)
{
    const struct rip_view *view = &mapping->view;
    uint64_t live_count = 0, claimed_bytes, memory_bytes;

    if (count_live(mapping, &live_count) != 0)
        return -EIO;
    claimed_bytes = live_count * view->slot_stride_bytes +
                    (uint64_t)info->process_high_water * view->process_stride_bytes +
                    (uint64_t)info->module_high_water * view->module_stride_bytes;
    if (file_tmpfs_bytes(mapping->descriptor, &memory_bytes) != 0)
        return 0;
    return claimed_bytes > memory_bytes;
}
