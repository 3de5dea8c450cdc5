/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - tables that threads without the GVL, and signal handlers, read while others write. */
#ifndef RIP_RUBY_VERSION_H
#define RIP_RUBY_VERSION_H

#include <rip/order.h>
#include <stdbool.h>
#include <stdint.h>

/* Of an entry: odd = being written. version_is() says whether what was read since version_read() is whole. */
struct version {
    uint32_t number;
};

static inline uint32_t version_read(const struct version *version)
{
    return rip_load_acquire(&version->number) & ~1u; /* pairs with version_end(); an odd one is found to differ */
}

static inline bool version_is(const struct version *version, uint32_t number)
{
    rip_fence_acquire(); /* pairs with the fence in version_begin() */
    return rip_load_relaxed(&version->number) == number;
}

/* False: another thread, or what a signal handler interrupted, writes now. */
static inline bool version_begin(struct version *version)
{
    uint32_t number = rip_load_relaxed(&version->number);

    if (number % 2 != 0 || !rip_compare_exchange(&version->number, &number, number + 1))
        return false;
    rip_fence_release(); /* pairs with the fence in version_is() */
    return true;
}

static inline void version_end(struct version *version)
{
    rip_store_release(&version->number, version->number + 1); /* pairs with version_read() */
}

#endif
