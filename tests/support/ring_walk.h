/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_walk.h - everything rip/reader.h can do, done to some bytes, with its promises checked on the way: for fuzzing
 * and for hostile images, where only the promises are known and not the values.
 *
 * Takes time in proportion to the size of the bytes. A broken promise is printed and aborts the program.
 */
#ifndef TESTS_SUPPORT_RING_WALK_H
#define TESTS_SUPPORT_RING_WALK_H

#include "rip/reader.h"

/* What there was to see. */
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

/* Opens the bytes (aligned to 8) and, if that is RIP_OK, reads all there is. The status of rip_view_open(). */
enum rip_status ring_walk(const void *bytes, uint64_t size_bytes, struct ring_walk *ret_walk);

#endif
