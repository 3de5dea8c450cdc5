/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.c - the kernel's random numbers. Touches nothing else.
 *
 * Guarantees
 *   1. Never waits, never fails.
 */
#include "os/random.h"

#include <sys/random.h>
#include <unistd.h>

#include "os/clock.h"

uint64_t random_u64(void)
{
    uint64_t value;

    if (getrandom(&value, sizeof(value), GRND_NONBLOCK) == (ssize_t)sizeof(value) ||
        getrandom(&value, sizeof(value), GRND_INSECURE) == (ssize_t)sizeof(value))
        return value;
    value = clock_wall_ns() ^ clock_boot_ns() << 32 ^ (uint64_t)getpid() << 48;
    return (value ^ value >> 31) * UINT64_C(0x9e3779b97f4a7c15);
}
