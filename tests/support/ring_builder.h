/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_builder.h - rings for tests, made from include/rip/ring.h alone. They use neither librip's writer nor its
 * reader, so that both can be tested against them.
 *
 * Guarantees
 *   1. A function writes only what it names. A ring built in a sparse file stays sparse.
 *   2. The same calls give the same bytes: no clock, no randomness.
 *   3. No atomics: finish building before another thread reads. Indices are not checked.
 */
#ifndef TESTS_SUPPORT_RING_BUILDER_H
#define TESTS_SUPPORT_RING_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rip/ring.h"

/* The geometry of a ring. 0 = the default of librip's writer. slot_capacity must be given. */
struct ring_geometry {
    uint32_t slot_capacity;
    uint32_t slot_stride_bytes;
    uint32_t entry_count;
    uint32_t entry_offset_bytes;
    uint32_t process_capacity; /* 0 = RIP_PROCESS_MIN */
    uint32_t process_stride_bytes;
    uint32_t module_capacity; /* 0 = 64 */
    uint32_t module_stride_bytes;
    uint32_t note_stride_bytes; /* 0 = no notes, as in rings of the preload library */
    uint32_t script_capacity;   /* 0 = no script table */
};

struct ring_builder {
    unsigned char *bytes;
    uint64_t size_bytes;
    struct rip_ring *ring; /* = bytes */
};

/* Returns the size of a ring of this geometry. */
uint64_t ring_builder_size(const struct ring_geometry *geometry);

/* Makes an empty ring in zeroed memory of ring_builder_size() bytes, aligned to 8. The memory remains the caller's. */
void ring_builder_init(struct ring_builder *builder, void *zeroed, const struct ring_geometry *geometry);

/* Makes an empty ring in its own memory. Exits the program if out of memory. */
void ring_builder_new(struct ring_builder *builder, const struct ring_geometry *geometry);
void ring_builder_free(struct ring_builder *builder);

/* Locations inside the ring, whether or not they are in use. */
struct rip_slot *ring_builder_slot(const struct ring_builder *builder, uint32_t slot);
uint64_t *ring_builder_entries(const struct ring_builder *builder, uint32_t slot);
struct rip_process *ring_builder_process(const struct ring_builder *builder, uint32_t process);
struct rip_module *ring_builder_module(const struct ring_builder *builder, uint32_t module);

/* Makes a slot live with a new id. name is NUL-terminated; at most RIP_NAME_BYTES of it are kept. */
void ring_builder_add_id(struct ring_builder *builder, uint32_t slot, uint32_t id, uint32_t tid, uint16_t process,
                         const char *name);
void ring_builder_remove_id(struct ring_builder *builder, uint32_t slot);

/* Ends the id in the slot: removes it, counts it and logs it. */
void ring_builder_end_id(struct ring_builder *builder, uint32_t slot);

/* Sets or clears only the live bit. Setting it also sets the summary bit, which is never cleared. */
void ring_builder_set_live(struct ring_builder *builder, uint32_t slot, bool live);

/* Makes one snap at address. */
void ring_builder_snap(struct ring_builder *builder, uint32_t slot, uint64_t address);

/* Puts the slot into the state after count `count`. The newest entries are snaps at ring_builder_address(count). */
void ring_builder_run_to(struct ring_builder *builder, uint32_t slot, uint64_t count);
uint64_t ring_builder_address(uint64_t count);

/* Sets the note of a slot, in a ring that has notes. */
struct rip_slot_note *ring_builder_note_at(const struct ring_builder *builder, uint32_t slot);
void ring_builder_note(struct ring_builder *builder, uint32_t slot, const void *text, uint8_t bytes);

/* Appends a function of a script, in a ring that has a script table. Texts are NUL-terminated. Returns its index. */
struct rip_script *ring_builder_script_at(const struct ring_builder *builder, uint32_t script);
uint32_t ring_builder_add_script(struct ring_builder *builder, const char *file, const char *function);

/* Declares the id idle at its current count. */
void ring_builder_idle(struct ring_builder *builder, uint32_t slot);

/* Makes record `process` a live process, and raises the high-water mark to cover it. comm is NUL-terminated. */
void ring_builder_add_process(struct ring_builder *builder, uint32_t process, uint32_t pid, uint64_t start_time_ticks,
                              const char *comm);

/*
 * Appends a module to the module table. build_id may be NULL. Returns its index, which ring_builder_link_module() adds
 * to the list of a process.
 */
uint32_t ring_builder_add_module(struct ring_builder *builder, uint64_t start, uint64_t end, uint64_t bias,
                                 const char *path, const void *build_id, size_t build_id_bytes);
void ring_builder_link_module(struct ring_builder *builder, uint32_t process, uint32_t module);

/*
 * A small ring with two processes, three modules, and ten slots, among them running, idle, ended and half-registered
 * ids, and a coroutine. ring_builder.c has the contents. Do not change them: the golden image is made from this ring.
 */
void ring_builder_new_sample(struct ring_builder *builder);

#endif
