/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_locks.h - workers of a server that take turns by a lock of a file: whether the one that holds it waits for work.
 * Touches /proc and the mappings. For ripd/ring alone.
 *
 * Guarantees
 *   A. A holder counts only if it is a worker of the same server: a process of the same ring, or one of the same user
 *      and name that has the same parent, or is the parent or the child: one that has changed its user has left the
 *      ring. Another process that holds the lock holds up those who wait for it, whatever it does.
 *   B. It is the holder of this scan: the kernel's list of locks is read once on each scan on which a suspect waits so.
 *   C. Where it is not known which thread of a process waits for the lock, nothing is concluded.
 *   D. Users have turns, and all of them together FILE_LOCKS_NS. Who has no turn waits for a holder that is not known.
 */
#ifndef RIPD_RING_FILE_LOCKS_H
#define RIPD_RING_FILE_LOCKS_H

#include "ring/waits_collect.h"

#define FILE_LOCKS_NS UINT64_C(10000000)

/* Fills in evidence.lock of suspects that wait for a lock of a file, as far as it can be known, and are not in waits.
 */
void file_locks_fill(const struct waits_source *source, const struct waits *waits);

#endif
