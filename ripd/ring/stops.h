/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stops.h - which processes are stopped as a whole: by a signal, by a tracer, or with their control group; and which
 * are stuck as a whole. Touches /proc. For ripd/ring alone.
 *
 * An id that waits for work is no suspect, so its thread is not examined; but in a stopped process it takes none.
 *
 * Guarantees
 *   A. A refresh looks at STOPS_PER_REFRESH processes at most, and at no process twice before it has looked at all.
 *   B. A process is stuck if STOPS_STUCK_THREADS or more threads of it live and each waits for another one of them
 *      without a time limit, and was in that same wait on two scans in a row. A thread that is in no ring, or not on a
 *      scan, makes it not so.
 *   C. A tracer stops a process if two looks in a row see that: one that traces system calls stops it for moments.
 */
#ifndef RIPD_RING_STOPS_H
#define RIPD_RING_STOPS_H

#include <stddef.h>
#include <stdint.h>

#include "ring/registry.h"

#define STOPS_PER_REFRESH 128u
#define STOPS_STUCK_THREADS 3u
#define STOPS_FREEZER_EVERY 4u /* so many looks at a process, one is at its control group too */

/* cgroup_path: where control groups are mounted; NULL: they are not looked at. pass: the caller's, of 0 at first. */
void stops_look(int proc, const char *cgroup_path, struct ring *const *rings, size_t count, uint32_t *pass);

#endif
