/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_builder.h - rings for tests, made from include/rip/ring.h alone: neither librip's writer nor its reader has a
 * part in them, so that both can be tested against them.
 *
 * Guarantees
 *   1. Only what a function names is written: built in a sparse file, a ring stays sparse.
 *   2. The same calls give the same bytes: no clock, no randomness.
 *   3. No atomics: finish building before anyone else looks. Indices are not checked; they are the test's own.
 */
#ifndef TESTS_SUPPORT_RING_BUILDER_H
#define TESTS_SUPPORT_RING_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rip/ring.h"

/* What may differ from ring to ring; 0 = as librip's writer does it, except slot_capacity, which must be given. */
struct ring_geometry {
    uint32_t slot_capacity;
    uint32_t slot_stride_bytes;
    uint32_t entry_count;
    uint32_t entry_offset_bytes;
    uint32_t process_capacity; /* 0 = RIP_PROCESS_MIN */
    uint32_t process_stride_bytes;
    uint32_t module_capacity; /* 0 = 64 */
    uint32_t module_stride_bytes;
    uint32_t note_stride_bytes; /* 0 = it has no notes, as those of the preload library */
    uint32_t script_capacity;   /* 0 = it has no script table */
};

struct ring_builder {
    unsigned char *bytes;
    uint64_t size_bytes;
    struct rip_ring *ring; /* = bytes */
};

/* Bytes that a ring of this geometry takes. */
uint64_t ring_builder_size(const struct ring_geometry *geometry);

/* Makes an empty ring of zeroed memory: ring_builder_size() bytes, aligned to 8, which stay the caller's. */
void ring_builder_init(struct ring_builder *builder, void *zeroed, const struct ring_geometry *geometry);

/* The same in memory of its own; exits the program if there is none. */
void ring_builder_new(struct ring_builder *builder, const struct ring_geometry *geometry);
void ring_builder_free(struct ring_builder *builder);

/* Places, whether or not anything is there. */
struct rip_slot *ring_builder_slot(const struct ring_builder *builder, uint32_t slot);
uint64_t *ring_builder_entries(const struct ring_builder *builder, uint32_t slot);
struct rip_process *ring_builder_process(const struct ring_builder *builder, uint32_t process);
struct rip_module *ring_builder_module(const struct ring_builder *builder, uint32_t module);

/* Makes a slot live with a fresh id. name ends with NUL; RIP_NAME_BYTES of it are kept. */
void ring_builder_add_id(struct ring_builder *builder, uint32_t slot, uint32_t id, uint32_t tid, uint16_t process,
                         const char *name);
void ring_builder_remove_id(struct ring_builder *builder, uint32_t slot);

/* Ends the id in the slot: as removing it, but counted and logged. */
void ring_builder_end_id(struct ring_builder *builder, uint32_t slot);

/* Sets or clears the live bit alone. Setting sets the summary bit too; it is never cleared. */
void ring_builder_set_live(struct ring_builder *builder, uint32_t slot, bool live);

/* One snap at address. */
void ring_builder_snap(struct ring_builder *builder, uint32_t slot, uint64_t address);

/* The state after `count` counts, the newest of them snaps at ring_builder_address(count of the snap). */
void ring_builder_run_to(struct ring_builder *builder, uint32_t slot, uint64_t count);
uint64_t ring_builder_address(uint64_t count);

/* A whole note, in a ring that has notes. */
struct rip_slot_note *ring_builder_note_at(const struct ring_builder *builder, uint32_t slot);
void ring_builder_note(struct ring_builder *builder, uint32_t slot, const void *text, uint8_t bytes);

/* Appends a function of a script, in a ring that has a table of them. Texts end with NUL. Returns its index. */
struct rip_script *ring_builder_script_at(const struct ring_builder *builder, uint32_t script);
uint32_t ring_builder_add_script(struct ring_builder *builder, const char *file, const char *function);

/* Declares the id idle, as it stands. */
void ring_builder_idle(struct ring_builder *builder, uint32_t slot);

/* A live process in record `process`, and high-water marks that cover it. comm ends with NUL. */
void ring_builder_add_process(struct ring_builder *builder, uint32_t process, uint32_t pid, uint64_t start_time_ticks,
                              const char *comm);

/* Appends a module to the module table, and to the list of a process. build_id may be NULL. Returns its index. */
uint32_t ring_builder_add_module(struct ring_builder *builder, uint64_t start, uint64_t end, uint64_t bias,
                                 const char *path, const void *build_id, size_t build_id_bytes);
void ring_builder_link_module(struct ring_builder *builder, uint32_t process, uint32_t module);

/*
 * A small ring with something of everything: two processes, three modules, and ten slots, among them a running, an
 * idle, an ended and a half-registered one, and a coroutine. What is in it stands in ring_builder.c; keep what is
 * there, for the golden image is made of it.
 */
void ring_builder_new_sample(struct ring_builder *builder);

#endif
