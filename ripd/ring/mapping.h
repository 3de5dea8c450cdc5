/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping.h - one ring file, read through rip/reader.h.
 *
 * A ring is mapped privately, and access to its holes is refused (os/holes.h). Where this is not possible (another file
 * system, an old kernel, a system call filter), the parts that a read needs are copied with pread(), which takes half a
 * microsecond each. Callers see no difference.
 *
 * Guarantees
 *   A. Reading allocates no page of the file, whatever the file says: a hole where the ring claims data damages the
 *      ring. In a copied ring, holes in place of bitmaps, processes and modules read as nothing.
 *   B. A fault or a short read damages the mapping, which is not read again.
 *   C. Only values leave this module.
 */
#ifndef RIPD_RING_MAPPING_H
#define RIPD_RING_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/file.h"
#include "rip/reader.h"

/* The largest ring of format 1 takes slightly more than 24 GiB. Larger files are not mapped. */
#define MAPPING_BYTES_MAX (UINT64_C(1) << 35)

enum mapping_method {
    MAPPING_MAPPED, /* copied if holes cannot be refused */
    MAPPING_COPIED,
};

struct mapping {
    int descriptor;    /* -1 = closed */
    const void *base;  /* NULL = copied */
    size_t size_bytes; /* of the ring, according to its header */
    bool copied;
    struct rip_view view;
    struct file_identity file; /* as of opening, or of the last mapping_check() */
    bool damaged;
    const char *reason; /* why it is damaged, a static phrase; NULL = it is not damaged */
};

/*
 * Takes ownership of descriptor, also on failure. Returns 0, or -errno if the file cannot be mapped, or 1 if the file
 * is not a readable ring: then *ret_status is the reason.
 */
int mapping_open(struct mapping *ret_mapping, int descriptor, enum mapping_method method, enum rip_status *ret_status);
void mapping_close(struct mapping *mapping);

/*
 * Returns the user that the ring belongs to, which is the owner of its file. Root is trusted more than others
 * (ring/identity.h). So a file of root's that others may write to belongs to MAPPING_NOBODY, a uid that no process has.
 */
#define MAPPING_NOBODY UINT32_MAX
uint32_t mapping_owner(const struct mapping *mapping);

/*
 * Reads the identity of the file again. Returns 0, -EIO if the file is shorter than the ring, which damages the
 * mapping, or another -errno.
 */
int mapping_check(struct mapping *mapping);

/*
 * These functions correspond to those of the reader. They return 0, or -EIO if the mapping is or becomes damaged, or 1
 * if the slot, record or entry holds nothing or changed during every attempt.
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
/* Copies raw bytes of the ring, for callers that save them. */
int mapping_bytes(struct mapping *mapping, uint64_t offset, void *ret_bytes, size_t count);
/*
 * Calls a function that reads the ring itself. The function must not allocate and must not take a lock. Returns -EIO as
 * above, or -ENOTSUP if the ring is copied.
 */
int mapping_read(struct mapping *mapping, void (*read)(void *context, const struct rip_view *view), void *context);
int mapping_process(struct mapping *mapping, uint32_t index, struct rip_process_info *ret_info);
int mapping_module(struct mapping *mapping, uint32_t process, uint32_t nth, struct rip_module_info *ret_info);
int mapping_script(struct mapping *mapping, uint64_t address, struct rip_script_info *ret_info);

#endif
