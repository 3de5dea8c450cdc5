/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping.h - one ring file, read through rip/reader.h.
 *
 * A ring is mapped privately, with its holes refused (os/holes.h). Where this is not possible (another file system, an
 * old kernel, a filter of system calls), the parts that a read needs are copied with pread(), at half a microsecond
 * each. Callers see no difference.
 *
 * Guarantees
 *   A. Reading allocates no page of the file, whatever the file says: a hole that the ring vouches for damages it.
 *      (Where it is copied, holes in place of bitmaps, processes and modules are read as nothing.)
 *   B. A fault or a short read damages the mapping, and it is not read again.
 *   C. What leaves this module are values.
 */
#ifndef RIPD_RING_MAPPING_H
#define RIPD_RING_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/file.h"
#include "rip/reader.h"

/* The largest ring of format 1 takes 24 GiB and a little. Beyond this a file is not mapped. */
#define MAPPING_BYTES_MAX (UINT64_C(1) << 35)

enum mapping_method {
    MAPPING_MAPPED, /* copied where holes cannot be refused */
    MAPPING_COPIED,
};

struct mapping {
    int descriptor;    /* -1 = closed */
    const void *base;  /* NULL = copied */
    size_t size_bytes; /* of the ring, as its header has it */
    bool copied;
    struct rip_view view;
    struct file_identity file; /* as of opening, or of the last mapping_check() */
    bool damaged;
    const char *reason; /* why it is damaged, a static phrase; NULL = it is not */
};

/*
 * Takes over descriptor, also on failure. 0; -errno when it cannot be mapped; or 1 with *ret_status, why the file is
 * not a ring that can be read.
 */
int mapping_open(struct mapping *ret_mapping, int descriptor, enum mapping_method method, enum rip_status *ret_status);
void mapping_close(struct mapping *mapping);

/*
 * The user that the ring belongs to: its file's owner. Root is believed more than others (ring/identity.h), so a file
 * of root's that others may write to belongs to MAPPING_NOBODY, a uid that no process has.
 */
#define MAPPING_NOBODY UINT32_MAX
uint32_t mapping_owner(const struct mapping *mapping);

/* Identifies the file anew. -EIO: it is shorter than the ring; the mapping is damaged from now on. */
int mapping_check(struct mapping *mapping);

/*
 * The reader's functions. -EIO: the mapping is damaged, or has just been. 1: the slot, record or entry holds nothing,
 * or changed in every attempt.
 */
int mapping_info(struct mapping *mapping, struct rip_ring_info *ret_info);
int mapping_scan(struct mapping *mapping, struct rip_scan_position *position, struct rip_sample *ret_samples,
                 size_t capacity, size_t *ret_count);
int mapping_id(struct mapping *mapping, uint32_t slot, struct rip_id_info *ret_info);
int mapping_wait(struct mapping *mapping, uint32_t slot, struct rip_wait_info *ret_info);
int mapping_note(struct mapping *mapping, uint32_t slot, struct rip_note_info *ret_info);
int mapping_last(struct mapping *mapping, uint32_t slot, struct rip_last_info *ret_info);
int mapping_trail(struct mapping *mapping, uint32_t slot, struct rip_entry ret_entries[RIP_ENTRY_COUNT],
                  size_t *ret_count);
/* Bytes at an offset that lies in the ring, as they are: for who keeps them. */
int mapping_bytes(struct mapping *mapping, uint64_t offset, void *ret_bytes, size_t count);
/* The caller's own reads of the ring, which allocate nothing and take no lock. -EIO; -ENOTSUP: the ring is copied. */
int mapping_read(struct mapping *mapping, void (*read)(void *context, const struct rip_view *view), void *context);
int mapping_process(struct mapping *mapping, uint32_t index, struct rip_process_info *ret_info);
int mapping_module(struct mapping *mapping, uint32_t process, uint32_t nth, struct rip_module_info *ret_info);
int mapping_script(struct mapping *mapping, uint64_t address, struct rip_script_info *ret_info);

#endif
