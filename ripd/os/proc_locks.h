/* SPDX-License-Identifier: Apache-2.0 */
/* proc_locks.h - who holds the file lock that a process waits for, from /proc/locks. Anyone is told. */
#ifndef RIPD_OS_PROC_LOCKS_H
#define RIPD_OS_PROC_LOCKS_H

#include <stdint.h>

/*
 * The process that holds the lock that pid waits for; inode of the file, 0 = any. -ESRCH: it waits for none, or the
 * holder has no pid here, as that of a lock of an open file description. -EFBIG: too many locks to look through.
 */
int proc_lock_holder(int proc, uint32_t pid, uint64_t inode, uint32_t *ret_holder);

/* The same on the text of the file. Pure, fuzzed. */
int proc_parse_lock_holder(const char *text, uint32_t pid, uint64_t inode, uint32_t *ret_holder);

#endif
