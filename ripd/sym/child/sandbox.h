/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - what the symbolizer gives up before it reads anything: privileges, unlimited memory, and every system
 * call that is not needed to read files and answer.
 */
#ifndef RIPD_SYM_CHILD_SANDBOX_H
#define RIPD_SYM_CHILD_SANDBOX_H

#include <stdint.h>

/*
 * Changes root to SANDBOX_USER. Gives up capabilities, new privileges, core dumps, and memory beyond
 * SANDBOX_MEMORY_BYTES. Files open only for reading. There are no descriptors above the link's, no sockets, no other
 * processes, no signals to them, and no code that was not in the program. The process dies with its parent, and first
 * when memory is short. In sanitizer builds there is neither a memory limit nor a filter. Returns 0 or -errno: then
 * nothing must be read.
 */
int sandbox_enter(void);

#define SANDBOX_MEMORY_BYTES (UINT64_C(4) << 30) /* address space: the largest debug files have gigabytes */
#define SANDBOX_DESCRIPTORS_MAX 64u

/* A uid that nothing else has. Services that run as 65534 could stop the symbolizer, and all users would lack names. */
#define SANDBOX_USER 4294967280u
#define SANDBOX_NOBODY 65534u /* in a user namespace that has no such user */

#endif
