/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - what the processes of ripd-probe give up before they do anything: every capability but those that
 * reading other users' processes takes, new privileges, writing, other programs, and every system call without a use.
 */
#ifndef RIPD_PROBE_CHILD_SANDBOX_H
#define RIPD_PROBE_CHILD_SANDBOX_H

#include <stdint.h>
#include <sys/types.h>

/*
 * They die with their parent. 0 or -errno: then nothing must be read.
 *   sandbox_enter_keeper   first. May make sockets between processes of its own, processes, and end them.
 *   sandbox_enter_worker   in a process of the keeper's. May open files to read, ask about locks, hold processes and
 *                          answer, over sockets that it has been given; no others, no processes, no signals but to
 *                          itself.
 *   sandbox_enter_fetcher  the same, but for other processes' memory and what is in directories; and may ask whether a
 *                          file has an access control list.
 * parent: who forked it, which may be gone by now; 0: the parent that it has.
 */
int sandbox_enter_keeper(void);
int sandbox_enter_worker(pid_t parent);
int sandbox_enter_fetcher(pid_t parent);

#define SANDBOX_MEMORY_BYTES (UINT64_C(1) << 37) /* address space: the largest ring takes half of it */
#define SANDBOX_DESCRIPTORS_MAX 64u

#endif
