/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - what the symbolizer gives up before it reads anything: privileges, memory without bound, and every system
 * call but those that reading files and answering takes.
 */
#ifndef RIPD_SYM_CHILD_SANDBOX_H
#define RIPD_SYM_CHILD_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Root becomes nobody; capabilities, new privileges, core dumps, and memory beyond SANDBOX_MEMORY_BYTES are given up;
 * files open for reading alone; no descriptor above the link's; no sockets, no other processes, no signals to them, no
 * code that was not in the program. It dies with its parent, and before anybody else when memory is short. 0 or -errno:
 * then nothing must be read.
 */
int sandbox_enter(void);

/*
 * A sanitizer maps terabytes, and makes calls of its own to start, and to say what it found: built with one there is
 * neither a limit of memory nor a filter.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_FOR_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANDBOX_FOR_SANITIZER true
#endif
#endif
#ifndef SANDBOX_FOR_SANITIZER
#define SANDBOX_FOR_SANITIZER false
#endif

#define SANDBOX_MEMORY_BYTES (UINT64_C(4) << 30) /* address space: the largest debug files have gigabytes */
#define SANDBOX_DESCRIPTORS_MAX 64u
#define SANDBOX_NOBODY 65534u

#endif
