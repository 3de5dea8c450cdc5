/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compiled_functions.c - the contenders of bench_compiled, each a library: CALLS names its function, and with
 * EMPTY_HOOKS it has hooks of its own, that nobody else calls.
 */
#include "compiled_functions.h"

#if defined(__clang__)
#define UNTRACED __attribute__((no_instrument_function, no_sanitize("coverage")))
#else
#define UNTRACED __attribute__((no_instrument_function, no_sanitize_coverage))
#endif

#ifdef EMPTY_HOOKS
#define HOOK __attribute__((visibility("hidden"), noinline)) UNTRACED
HOOK void __cyg_profile_func_enter(void *function, void *call_site);
HOOK void __cyg_profile_func_exit(void *function, void *call_site);
HOOK void __sanitizer_cov_trace_pc(void);

void __cyg_profile_func_enter(void *function, void *call_site)
{
    (void)function, (void)call_site;
    __asm__ volatile("");
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    (void)function, (void)call_site;
    __asm__ volatile("");
}

void __sanitizer_cov_trace_pc(void)
{
    __asm__ volatile("");
}
#endif

__attribute__((noinline)) static uint64_t do_nothing(uint64_t number)
{
    __asm__ volatile("" : "+r"(number));
    return number;
}

UNTRACED void CALLS(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        do_nothing(i);
}
