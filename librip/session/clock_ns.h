/* SPDX-License-Identifier: Apache-2.0 */
/* clock_ns.h - reads a clock in nanoseconds. */
#ifndef RIP_SESSION_CLOCK_NS_H
#define RIP_SESSION_CLOCK_NS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#endif
