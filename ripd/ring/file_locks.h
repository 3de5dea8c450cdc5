/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_locks.h - server workers that take turns by a file lock: finds out whether the lock's holder waits for work.
 * Touches /proc and the mappings. For ripd/ring alone.
 *
 * Guarantees
 *   A. A holder counts as idle only if it is a worker of the same server. That is a process of the same ring; or a
 *      process with the same user and name that has the same parent, or is the parent or the child of the waiter.
 *      (Workers that change their user leave the ring of their parent.) Any other holder blocks those who wait,
 *      whatever it does.
 *   B. The holder is that of this scan: the kernel's list of locks is read once on each scan with a suspect in such a
 *      wait.
 *   C. If it is not known which thread of a process waits for the lock, nothing is concluded.
 *   D. Users take turns, and all users together have FILE_LOCKS_NS. For waiters without a turn the holder is not known.
 */
#ifndef RIPD_RING_FILE_LOCKS_H
#define RIPD_RING_FILE_LOCKS_H

#include "ring/waits_collect.h"

#define FILE_LOCKS_NS UINT64_C(10000000)

/* Fills in evidence.lock of suspects that wait for a file lock, as far as it is known, and are not in waits. */
void file_locks_fill(const struct waits_source *source, const struct waits *waits);

#endif
