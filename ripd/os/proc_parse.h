/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_parse.h - parses files of /proc. Pure, on terminated text that may be hostile: a process chooses its own name.
 * Fuzzed.
 *
 * Guarantees
 *   A. Nothing beyond the terminator is read, whatever the text.
 *   B. If a field is missing or a number does not fit, it returns -EINVAL, and the output is untouched.
 */
#ifndef RIPD_OS_PROC_PARSE_H
#define RIPD_OS_PROC_PARSE_H

#include "os/proc.h"
#include "os/proc_locks.h"
#include "os/proc_thread.h"

int proc_parse_stat(const char *text, struct proc_stat *ret_stat);
int proc_parse_status(const char *text, struct proc_status *ret_status);
int proc_parse_statm(const char *text, uint64_t page_bytes, struct proc_memory *ret_memory);
/* Leaves out a group at the very end of the text, because it may have been cut. */
int proc_parse_credentials(const char *text, struct proc_credentials *ret_credentials);
/* Returns -ESRCH if the process waits for no lock whose holder has a pid. */
int proc_parse_lock_holder(const char *text, uint32_t pid, uint64_t inode, uint32_t *ret_holder);
/* Returns -EFBIG if there are more than capacity. */
int proc_parse_lock_waits(const char *text, struct proc_lock_wait *ret_waits, size_t capacity, size_t *ret_count);

int proc_parse_schedstat(const char *text, struct proc_schedstat *ret_schedstat);
int proc_parse_switches(const char *text, struct proc_switches *ret_switches);
int proc_parse_wchan(const char *text, char ret_wchan[PROC_WCHAN_BYTES]); /* -ENODATA for "0" */
int proc_parse_syscall(const char *text, struct proc_syscall *ret_syscall);
int proc_parse_descriptor(const char *text, uint64_t *ret_inode, uint64_t *ret_mount);

#endif
