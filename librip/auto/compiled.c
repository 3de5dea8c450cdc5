/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiled.c - librip-compiled: hooks that compilers call at functions and edges. Each hook leaves a breadcrumb.
 *
 *   -finstrument-functions                  at a function's entry: the function; at its return: the call site
 *   -fsanitize-coverage=trace-pc            at each edge: the code address of the hook call
 *   -fsanitize-coverage=trace-pc-guard      the same, with clang
 *
 * The first breadcrumb makes a ring for the process, in the same way as the preload library (librip/own_ring.c), unless
 * the process has a ring. Each thread gets an id at its first breadcrumb, named after the thread's current kernel name.
 * The hooks do not know what a thread waits for. The thread announces RIP_CALL_OUTSIDE, so ripd accuses it only while
 * it uses or wants a processor.
 *
 * Guarantees
 *   A. If the program made a ring itself, only threads to which the program gives an id leave breadcrumbs.
 *   B. errno is kept. Leaving a breadcrumb calls nothing; only the first breadcrumb of a thread makes system calls.
 *   C. Functions called from here may be traced themselves (the program's allocator, for example). The thread is marked
 *      before such calls, and leaves no breadcrumb during them. The same holds for a signal handler during such a call.
 *   D. A forked child shares the ring. Its thread gets an id at the first traced function that it runs.
 *   E. exit() and quick_exit() remove the ring unless another process uses it. After _exit() or a fatal signal the ring
 *      stays.
 *   F. The compiler does not instrument this file's functions.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "writer.h"

#if defined(__clang__)
#define UNTRACED __attribute__((no_instrument_function, no_sanitize("coverage")))
#else
#define UNTRACED __attribute__((no_instrument_function, no_sanitize_coverage))
#endif
#define HOOK RIP_API UNTRACED

enum { KERNEL_NAME_BYTES = 16 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool is_ours; /* the ring was made here, not by the program */

/* rip__epoch + 1 when this thread got an id or was refused one. A forked child has a different epoch, so it retries. */
static __thread uint32_t tried __attribute__((tls_model("initial-exec")));

UNTRACED static void begin(void)
{
    is_ours = rip__compiled_begin();
    if (!is_ours)
        return;
    atexit(rip__compiled_end);
    at_quick_exit(rip__compiled_end);
}

__attribute__((noinline, cold)) UNTRACED static void enter_thread(void)
{
    char name[KERNEL_NAME_BYTES] = "";
    int saved_errno = errno;

    tried = rip__epoch + 1;
    rip_signal_fence();
    pthread_once(&once, begin);
    if (is_ours) {
        prctl(PR_GET_NAME, name);
        rip_init(0, name, strnlen(name, KERNEL_NAME_BYTES - 1), 0, 0);
        if (rip__thread.slot != NULL)
            rip_store_relaxed(&rip__thread.slot->call, RIP_CALL_OUTSIDE);
    }
    tried = rip__epoch + 1; /* rip_init() raises the epoch if it notices a fork that no fork handler saw */
    errno = saved_errno;
}

__attribute__((always_inline)) UNTRACED static inline void leave_breadcrumb(uintptr_t address)
{
    if (__builtin_expect(rip__thread.slot == NULL, 0)) {
        if (tried == rip__epoch + 1)
            return;
        enter_thread();
        if (rip__thread.slot == NULL)
            return;
    }
    rip__record(rip__thread.slot, address);
}

HOOK void __cyg_profile_func_enter(void *function, void *call_site);
HOOK void __cyg_profile_func_exit(void *function, void *call_site);
HOOK void __sanitizer_cov_trace_pc(void);
HOOK void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
HOOK void __sanitizer_cov_trace_pc_guard_init(uint32_t *first, uint32_t *end);

void __cyg_profile_func_enter(void *function, void *call_site)
{
    (void)call_site;
    leave_breadcrumb((uintptr_t)function);
}

/* In this and the following hooks: one byte before a return address is within the call, so it has the call's line. */
void __cyg_profile_func_exit(void *function, void *call_site)
{
    (void)function;
    leave_breadcrumb((uintptr_t)call_site - 1);
}

void __sanitizer_cov_trace_pc(void)
{
    leave_breadcrumb((uintptr_t)__builtin_return_address(0) - 1);
}

void __sanitizer_cov_trace_pc_guard(uint32_t *guard)
{
    (void)guard;
    leave_breadcrumb((uintptr_t)__builtin_return_address(0) - 1);
}

void __sanitizer_cov_trace_pc_guard_init(uint32_t *first, uint32_t *end)
{
    (void)first, (void)end;
}
