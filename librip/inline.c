/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inline.c - the globals, and the inline functions once more as real symbols, for foreign-function interfaces and for
 * compilers that do not inline.
 *
 * Guarantees
 *   1. The definitions of the globals are weak: a program's own win, linked statically or dynamically.
 *   2. The real functions do what the inline ones do, except that rip_snap() records its caller, not itself.
 *
 * The header's functions are "extern inline" in the GNU sense: no symbol comes of them. They have other names here, so
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

#ifndef RIP_PRELOAD_OWN_H /* the preload library has more of a thread in the same place: see preload.h */
__thread struct rip_thread rip__thread INITIAL_EXEC;
#endif
RIP_EARLY uint32_t rip__epoch;

/*
 * A program may be linked with librip.a and with librip-compiled.so, which has librip.so beside it. All of it then uses
 * what the program has, if the program has all of it: this takes the rest out of the archive.
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

/* A byte within the call: what follows it may be of another line, or of another function where it is the last one. */
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
