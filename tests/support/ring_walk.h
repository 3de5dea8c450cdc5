/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_walk.h - reads everything that rip/reader.h can read from some bytes, and checks its guarantees. For fuzzing and
 * for hostile images, whose values are unknown.
 *
 * Takes time in proportion to the size of the bytes. A broken guarantee is printed and aborts the program.
 */
#ifndef TESTS_SUPPORT_RING_WALK_H
#define TESTS_SUPPORT_RING_WALK_H

#include "rip/reader.h"

/* The number of items that were read. */
struct ring_walk {
    size_t samples;
    size_t ids;
    size_t waits;
    size_t notes;
    size_t entries;
    size_t processes;
    size_t modules;
    size_t ended;
    size_t scripts;
};

/*
 * Opens the bytes (aligned to 8) and, if that returns RIP_OK, reads everything. Returns the status of rip_view_open().
 */
enum rip_status ring_walk(const void *bytes, uint64_t size_bytes, struct ring_walk *ret_walk);

#endif
