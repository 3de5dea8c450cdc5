/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stops.h - finds processes that are stopped as a whole, by a signal, a tracer, or their control group, and processes
 * that are stuck as a whole. Touches /proc. For ripd/ring alone.
 *
 * An id that waits for work is no suspect, so its thread is not examined. But in a stopped process it will never take
 * work.
 *
 * Guarantees
 *   A. A refresh looks at STOPS_PER_REFRESH processes at most if they are of one user (WORK_STOP_LOOKS), and at no
 *      process of a ring twice before it has looked at all of them. The rings of a user take turns.
 *   B. A process is stuck if it has STOPS_STUCK_THREADS threads or more, each waits for another of them without a time
 *      limit, and each was in the same wait on two scans in a row. It is not stuck if one of its threads is in no ring,
 *      or was not seen on a scan.
 *   C. A process counts as stopped by a tracer if two looks in a row see it so, because a tracer of system calls stops
 *      it for moments.
 */
#ifndef RIPD_RING_STOPS_H
#define RIPD_RING_STOPS_H

#include <stddef.h>
#include <stdint.h>

#include "ring/host.h"
#include "ring/registry.h"

#define STOPS_PER_REFRESH 128u /* half of WORK_STOP_LOOKS */
#define STOPS_STUCK_THREADS 3u
#define STOPS_FREEZER_EVERY 4u /* of this many looks at a process, one also reads its control group */

/* Reads control groups only if the host has a cgroup_path. Rings are in ascending order of serial. */
void stops_look(struct ring_host *host, struct ring *const *rings, size_t count);

#endif
