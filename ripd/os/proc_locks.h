/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_locks.h - file locks: the processes that wait for one, and its holder. Any user may read this.
 *
 * Guarantees
 *   A. Work is bounded: at most PROC_LOCKS_BYTES of the list of locks are read.
 */
#ifndef RIPD_OS_PROC_LOCKS_H
#define RIPD_OS_PROC_LOCKS_H

#include <stddef.h>
#include <stdint.h>

#define PROC_LOCKS_BYTES (1u << 18)
#define PROC_LOCK_WAITS_MAX 4096u

/*
 * Finds the process that holds the file lock which pid waits for. inode: of the file; 0 = any. Returns 0; -ESRCH if pid
 * waits for no lock, or the holder has no pid here (for example the holder of an open file description lock); -EFBIG if
 * there are too many locks.
 */
int proc_lock_holder(int proc, uint32_t pid, uint64_t inode, uint32_t *ret_holder);

/* A process that waits for file locks. */
struct proc_lock_wait {
    uint32_t pid;
    uint32_t holder; /* of all these locks; 0 = several holders, or it has no pid here */
};

/*
 * Lists the processes that wait for file locks, in order of pid. Returns -EFBIG if there are too many locks or waits.
 */
int proc_lock_waits(int proc, struct proc_lock_wait ret_waits[PROC_LOCK_WAITS_MAX], size_t *ret_count);

#endif
