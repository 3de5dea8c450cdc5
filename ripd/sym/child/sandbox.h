/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - what the symbolizer gives up before it reads anything: privileges, memory without bound, and every system
 * call but those that reading files and answering takes.
 */
#ifndef RIPD_SYM_CHILD_SANDBOX_H
#define RIPD_SYM_CHILD_SANDBOX_H

#include <stdint.h>

/*
 * Root becomes SANDBOX_USER; capabilities, new privileges, core dumps, and memory beyond SANDBOX_MEMORY_BYTES are given
 * up; files open for reading alone; no descriptor above the link's; no sockets, no other processes, no signals to them,
 * no code that was not in the program. It dies with its parent, and before anybody else when memory is short. Built
 * with a sanitizer there is neither a limit of memory nor a filter. 0 or -errno: then nothing must be read.
 */
int sandbox_enter(void);

#define SANDBOX_MEMORY_BYTES (UINT64_C(4) << 30) /* address space: the largest debug files have gigabytes */
#define SANDBOX_DESCRIPTORS_MAX 64u

/* A uid that nothing else has. The services that have 65534 could stop it, and all users would lack names. */
#define SANDBOX_USER 4294967280u
#define SANDBOX_NOBODY 65534u /* in a user namespace that has no such user */

#endif
