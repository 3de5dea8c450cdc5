/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - restricts the processes of ripd-probe before they do anything. They keep only the capabilities needed to
 * read other users' processes. They cannot gain privileges, write files, execute programs, or make system calls that
 * they do not use.
 */
#ifndef RIPD_PROBE_CHILD_SANDBOX_H
#define RIPD_PROBE_CHILD_SANDBOX_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Each is a bit.
 *   SANDBOX_KEEPER    the first process. May fork and kill processes.
 *   SANDBOX_WORKER    a child of the keeper. May open files for reading, query locks, open pidfds, and answer over the
 *                     sockets it was given. No other sockets, no new processes, no signals except to itself.
 *   SANDBOX_FETCHER   as the worker, without memory of other processes and lists of directories. May also query whether
 *                     a file has an access control list.
 */
enum sandbox_process { SANDBOX_KEEPER = 1, SANDBOX_WORKER = 2, SANDBOX_FETCHER = 4 };

/*
 * The process will die with its parent. parent: the process that forked it, which may have ended already; 0 = the
 * current parent. Returns 0 or -errno. On failure the process must not read anything.
 */
int sandbox_enter_as(enum sandbox_process process, pid_t parent);

#define SANDBOX_MEMORY_BYTES (UINT64_C(1) << 37) /* of address space; the largest ring takes half of it */
#define SANDBOX_DESCRIPTORS_MAX 64u

#endif
