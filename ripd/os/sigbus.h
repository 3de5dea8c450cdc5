/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sigbus.h - surviving a mapped file that another process truncates.
 *
 *     if (SIGBUS_GUARD(base, size)) {
 *         ... reads of the mapping ...
 *         sigbus_unguard();
 *     } else {
 *         ... a read faulted; the guard is off already ...
 *     }
 *
 * Guarantees
 *   A. A SIGBUS at an address inside the guarded range returns to the guard; any other has its default effect.
 *   B. One guard per thread at a time, kept in thread-local storage; no cost where nothing faults.
 *   C. Between guard and unguard, only code that may be left by siglongjmp: no lock taken, nothing allocated.
 */
#ifndef RIPD_OS_SIGBUS_H
#define RIPD_OS_SIGBUS_H

#include <setjmp.h>
#include <stddef.h>

/* Once per process, before the first guard. 0 or -errno. */
int sigbus_install(void);

sigjmp_buf *sigbus_arm(const void *base, size_t size_bytes);
void sigbus_unguard(void);

/* The handler blocks nothing, so no mask needs saving; ThreadSanitizer's own, which calls it, blocks everything. */
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
