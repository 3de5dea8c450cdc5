/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline.c - the globals, and the inline functions once more as real symbols, for foreign-function interfaces and for
 * compilers that do not inline.
 *
 * Guarantees
 *   1. The definitions of the globals are weak: definitions in the program win, linked statically or dynamically.
 *   2. The real functions do what the inline ones do, except that rip_snap() records its caller, not itself.
 *
 * The header's functions are "extern inline" in the GNU sense: they produce no symbol. Here they get other names, so
 * that the real ones can be defined: clang accepts neither a second definition nor a second function for one symbol.
 */
#define rip_snap rip__inline_snap
#define rip_idle rip__inline_idle
#define rip_switch rip__inline_switch
#include "writer.h"
#undef rip_snap
#undef rip_idle
#undef rip_switch

#define WEAK __attribute__((weak))
#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))

WEAK INITIAL_EXEC RIP_THREAD_LOCAL pid_t rip_tid;
WEAK INITIAL_EXEC RIP_THREAD_LOCAL uint8_t rip_idx;
WEAK INITIAL_EXEC RIP_THREAD_LOCAL uint8_t rip_ctr;
WEAK RIP_EARLY struct rip_ring *rip_ring;

#ifndef RIP_PRELOAD_OWN_H /* the preload library extends this structure: see preload.h */
__thread struct rip_thread rip__thread INITIAL_EXEC;
#endif
RIP_EARLY uint32_t rip__epoch;

/*
 * A program may be linked with both librip.a and librip-compiled.so, which also loads librip.so. Then all of them use
 * the symbols of the program, if it has the complete set. This reference pulls the rest out of the archive.
 */
__attribute__((used)) static bool (*const for_compiled)(void) = rip__compiled_begin;

void rip_snap_at(const void *address)
{
    struct rip_slot *slot = rip__thread.slot;

    if (slot != NULL)
        rip__record(slot, (uintptr_t)address);
}

RIP_API void rip_snap(void);
RIP_API void rip_idle(void);
RIP_API void rip_switch(struct rip_context *from, const struct rip_context *to);

/* Records a byte inside the call instruction: the return address may be on another line, or in another function. */
void rip_snap(void)
{
    rip_snap_at((const char *)__builtin_return_address(0) - 1);
}

void rip_idle(void)
{
    rip__inline_idle();
}

void rip_switch(struct rip_context *from, const struct rip_context *to)
{
    rip__inline_switch(from, to);
}
