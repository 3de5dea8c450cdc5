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
 * Each a bit.
 *   SANDBOX_KEEPER    first. May make processes, and end them.
 *   SANDBOX_WORKER    in a process of the keeper's. May open files to read, ask about locks, hold processes and answer,
 *                     over sockets that it has been given; no others, no processes, no signals but to itself.
 *   SANDBOX_FETCHER   the same, but for other processes' memory and what is in directories; and may ask whether a file
 *                     has an access control list.
 */
enum sandbox_process { SANDBOX_KEEPER = 1, SANDBOX_WORKER = 2, SANDBOX_FETCHER = 4 };

/*
 * It dies with its parent: who forked it, which may be gone by now; 0: the parent that it has. 0 or -errno: then
 * nothing must be read.
 */
int sandbox_enter_as(enum sandbox_process process, pid_t parent);

#define SANDBOX_MEMORY_BYTES (UINT64_C(1) << 37) /* address space: the largest ring takes half of it */
#define SANDBOX_DESCRIPTORS_MAX 64u

#endif
