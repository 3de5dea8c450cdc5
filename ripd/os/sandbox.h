/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - restricts a child of ripd that reads hostile bytes: capabilities, limits, and system calls. The child's
 * own sandbox.c lists what it keeps. Needs libseccomp, which only such children are linked with.
 */
#ifndef RIPD_OS_SANDBOX_H
#define RIPD_OS_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A sanitizer maps terabytes, and makes system calls of its own to start and to report. */
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
 * Makes the kernel kill the process when its parent ends. parent: the expected parent; 0 = the current one. The kernel
 * drops this setting when the process changes its user, so it must be called afterwards. Returns 0; -ESRCH if the
 * parent has ended meanwhile; or another -errno.
 */
int sandbox_die_with_parent(pid_t parent);

/*
 * Gives up: all capabilities except these, new privileges, core dumps, growing files, address space beyond memory_bytes
 * (except with a sanitizer), and descriptors beyond descriptors_max. The process dies with its parent. Returns 0 or
 * -errno. On failure the process must not read anything.
 */
int sandbox_give_up(uint64_t capabilities, uint64_t memory_bytes, uint64_t descriptors_max);

/*
 * Makes all further system calls fail with EPERM, with two exceptions. calls: names that are allowed, separated by
 * blanks. Always allowed is what every such process needs: answering over an open socket, opening and reading existing
 * files, memory without PROT_EXEC, and tgkill() of the process itself. asks_locks: F_GETLK is also allowed. If there is
 * a filter already, both must allow a call. New privileges must have been given up. Returns 0 or -errno.
 */
int sandbox_filter(const char *calls, bool asks_locks);

#endif
