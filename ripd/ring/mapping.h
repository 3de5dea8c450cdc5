/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mapping.h - one ring file, mapped read-only.
 *
 * Guarantees
 *   A. Every read of the mapping goes through rip/reader.h under a SIGBUS guard; a fault makes the mapping damaged, and
 *      it is not read again.
 *   B. What leaves this module are values.
 */
#ifndef RIPD_RING_MAPPING_H
#define RIPD_RING_MAPPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/file.h"
#include "rip/reader.h"

/* The largest ring of format 1 takes 26 GB; what claims more than this is not mapped: address space is finite. */
#define MAPPING_BYTES_MAX (UINT64_C(1) << 36)

struct mapping {
    int descriptor; /* -1 = closed */
    const void *base;
    size_t size_bytes;
    struct rip_view view;
    struct file_identity file; /* as of opening, or of the last mapping_check() */
    bool damaged;
};

/*
 * Takes over descriptor, also on failure. 0; -errno when it cannot be mapped; or 1 with *ret_status telling why the
 * file is not a ring that can be read.
 */
int mapping_open(struct mapping *ret_mapping, int descriptor, enum rip_status *ret_status);
void mapping_close(struct mapping *mapping);

/*
 * The user whose word the ring is: its file's owner. Root is believed more than others (ring/identity.h), so what is
 * root's and others may write to is nobody's: MAPPING_NOBODY, which no process is of.
 */
#define MAPPING_NOBODY UINT32_MAX
uint32_t mapping_owner(const struct mapping *mapping);

/* Identifies the file anew. -EIO: it is shorter than what is mapped; the mapping is damaged from now on. */
int mapping_check(struct mapping *mapping);

/*
 * The reader's functions, guarded. -EIO: the file was cut; the mapping is damaged from now on. 1: what was asked for
 * holds nothing, or changed in every attempt.
 */
int mapping_info(struct mapping *mapping, struct rip_ring_info *ret_info);
int mapping_scan(struct mapping *mapping, struct rip_scan_position *position, struct rip_sample *ret_samples,
                 size_t capacity, size_t *ret_count);
int mapping_id(struct mapping *mapping, uint32_t slot, struct rip_id_info *ret_info);
int mapping_wait(struct mapping *mapping, uint32_t slot, struct rip_wait_info *ret_info);
int mapping_last(struct mapping *mapping, uint32_t slot, struct rip_last_info *ret_info);
int mapping_trail(struct mapping *mapping, uint32_t slot, struct rip_crumb ret_crumbs[RIP_ENTRY_COUNT],
                  size_t *ret_count);
int mapping_process(struct mapping *mapping, uint32_t index, struct rip_process_info *ret_info);
int mapping_module(struct mapping *mapping, uint32_t process, uint32_t nth, struct rip_module_info *ret_info);

#endif
