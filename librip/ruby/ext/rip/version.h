/* SPDX-License-Identifier: Apache-2.0 */
/* version.h - entries of tables that threads without the GVL, and signal handlers, read while other threads write. */
#ifndef RIP_RUBY_VERSION_H
#define RIP_RUBY_VERSION_H

#include <rip/order.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The version of an entry: odd = being written. If version_is() returns true, the data read since version_read() is
 * consistent.
 */
struct version {
    uint32_t number;
};

static inline uint32_t version_read(const struct version *version)
{
    return rip_load_acquire(&version->number) & ~1u; /* pairs with version_end(); after an odd one version_is() fails */
}

static inline bool version_is(const struct version *version, uint32_t number)
{
    rip_fence_acquire(); /* pairs with the fence in version_begin() */
    return rip_load_relaxed(&version->number) == number;
}

/* Returns false if the entry is being written, by another thread or by the code that a signal handler interrupted. */
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
