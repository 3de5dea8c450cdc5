/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigbus.h - survives reads of a mapped file that another process truncates.
 *
 *     if (SIGBUS_GUARD(base, size)) {
 *         ... reads of the mapping ...
 *         sigbus_unguard();
 *     } else {
 *         ... a read faulted; the guard is already disarmed ...
 *     }
 *
 * Guarantees
 *   A. A SIGBUS at an address inside the guarded range returns to the guard. Any other has its default action.
 *   B. A thread has one guard at a time, in thread-local storage. It makes no system call unless a read faults.
 *   C. The code between guard and unguard may be left by siglongjmp: it must not take locks or allocate memory.
 */
#ifndef RIPD_OS_SIGBUS_H
#define RIPD_OS_SIGBUS_H

#include <setjmp.h>
#include <stddef.h>

/* Must be called once per process, before the first guard. Returns 0 or -errno. */
int sigbus_install(void);

sigjmp_buf *sigbus_arm(const void *base, size_t size_bytes);
void sigbus_unguard(void);

/* The handler blocks no signal, so no mask must be saved. ThreadSanitizer's handler, which calls it, blocks all. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIGBUS_SAVES_MASK 1
#endif
#endif
#if !defined(SIGBUS_SAVES_MASK) && defined(__SANITIZE_THREAD__)
#define SIGBUS_SAVES_MASK 1
#endif
#ifndef SIGBUS_SAVES_MASK
#define SIGBUS_SAVES_MASK 0
#endif

#define SIGBUS_GUARD(base, size_bytes) (sigsetjmp(*sigbus_arm((base), (size_bytes)), SIGBUS_SAVES_MASK) == 0)

#endif
