/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - what a process of ripd's that reads hostile bytes gives up: capabilities, limits, and system calls. Its
 * own sandbox.c says how much it keeps. Linked with libseccomp, into such processes alone.
 */
#ifndef RIPD_OS_SANDBOX_H
#define RIPD_OS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A sanitizer maps terabytes, and makes calls of its own to start and to report. */
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

/*
 * Killed as soon as its parent ends; 0: the parent that it has now.
 * Forgotten when the user of the process changes: to be called after it. -ESRCH: the parent ended meanwhile; or another
 * -errno.
 */
int sandbox_die_with_parent(pid_t parent);

/*
 * Gives up all capabilities but these, new privileges, core dumps, files made longer, address space beyond memory_bytes
 * (but for a sanitizer), and descriptors beyond descriptors_max. Dies with its parent. 0 or -errno: then nothing must
 * be read.
 */
int sandbox_give_up(uint64_t capabilities, uint64_t memory_bytes, uint64_t descriptors_max);

/*
 * From here on calls fail with EPERM but for those named, with blanks between, and those that every such process needs:
 * to answer over a socket that is open, to open and read what is there, memory without PROT_EXEC, and tgkill() of the
 * process itself. asks_locks: F_GETLK, too. Over a filter that is there already: both have to allow. New privileges
 * must have been given up. 0 or -errno.
 */
int sandbox_filter(const char *calls, bool asks_locks);

#endif
