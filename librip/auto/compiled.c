/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiled.c - librip-compiled: what a compiler calls at functions and edges leaves a breadcrumb.
 *
 *   -finstrument-functions                  at a function's entry: the function; at its return: where it was called
 *   -fsanitize-coverage=trace-pc            at each edge: the place behind it
 *   -fsanitize-coverage=trace-pc-guard      the same, with clang
 *
 * The process gets a ring at the first of them, made as by the preload library (librip/own_ring.c), unless it has one;
 * each thread gets an id at its first one, under the name that the kernel has for it then. Nothing is known of what a
 * thread waits for: it announces RIP_CALL_OUTSIDE, so that ripd accuses only one that uses or wants a processor.
 *
 * Guarantees
 *   A. A ring that the program made itself is left to the program: only threads that it gives an id leave breadcrumbs.
 *   B. errno stays. Nothing is called when a thread leaves a breadcrumb; its first one makes system calls.
 *   C. What is called from here may be traced itself (an allocator of the program's): the thread is marked before, and
 *      what would leave a breadcrumb meanwhile leaves none. So it is with a signal handler in the middle of it.
 *   D. A forked child shares the ring, its thread gets an id at the first function that it runs.
 *   E. At exit() and quick_exit() the ring goes, unless another process is in it. After _exit() and a signal it stays.
 *   F. Nothing here is traced by what a compiler puts in.
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
static bool is_ours; /* the ring */

/* rip__epoch + 1 of when this thread got an id, or was refused one: in a forked child that is another number. */
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
    tried = rip__epoch + 1; /* a fork that no handler saw was noticed in between */
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

/* Return addresses: the byte before is within the call, and so of its line. */
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
