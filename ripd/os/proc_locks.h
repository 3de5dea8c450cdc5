/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_locks.h - locks of files: who waits for one, and who holds it. Any user may read them.
 *
 * Guarantees
 *   A. Work is bounded: PROC_LOCKS_BYTES of locks are looked at.
 */
#ifndef RIPD_OS_PROC_LOCKS_H
#define RIPD_OS_PROC_LOCKS_H

#include <stddef.h>
#include <stdint.h>

#define PROC_LOCKS_BYTES (1u << 18)
#define PROC_LOCK_WAITS_MAX 4096u

/*
 * The process that holds the file lock that pid waits for; inode of the file, 0 = any. -ESRCH: it waits for none, or
 * the holder has no pid here, as that of a lock of an open file description. -EFBIG: there are too many locks.
 */
int proc_lock_holder(int proc, uint32_t pid, uint64_t inode, uint32_t *ret_holder);

/* A process that waits for locks of files, and the one that holds them all; 0 = several do, or it has no pid here. */
struct proc_lock_wait {
    uint32_t pid;
    uint32_t holder;
};

/* All that wait so, in order of pid. -EFBIG: there are too many locks, or more that wait. */
int proc_lock_waits(int proc, struct proc_lock_wait ret_waits[PROC_LOCK_WAITS_MAX], size_t *ret_count);

#endif
