/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.c - the kernel's random numbers. Touches nothing else.
 *
 * Guarantees
 *   1. Never blocks, never fails.
 */
#include "os/random.h"

#include <sys/random.h>

uint64_t random_u64(void)
{
    uint64_t value = 0;

    (void)!getrandom(&value, sizeof(value), GRND_INSECURE); /* so few bytes are always returned, without blocking */
    return value;
}
