/* SPDX-License-Identifier: Apache-2.0 */
/*
 * duration.c - durations as people write them. Pure; no locale, no floating point.
 */
#include "util/duration.h"

#include <errno.h>
#include <string.h>

#include "util/array.h"

static const struct unit {
    const char *suffix;
    uint64_t ns;
} units[] = {
    {"ms", UINT64_C(1000000)},
    {"s", UINT64_C(1000000000)},
    {"m", UINT64_C(60000000000)},
    {"h", UINT64_C(3600000000000)},
};
#define UNIT_COUNT (ARRAY_COUNT(units))

int duration_parse(const char *text, uint64_t *ret_ns)
{
    uint64_t number = 0;
    const char *p = text;

    if (*p < '0' || *p > '9')
        return -EINVAL;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(number, 10u, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
            return -ERANGE;
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        uint64_t ns;

        if (strcmp(p, units[i].suffix) != 0)
            continue;
        /* INT64_MAX ns is 292 years: sums of two durations stay inside 64 bits */
        if (__builtin_mul_overflow(number, units[i].ns, &ns) || ns > INT64_MAX)
            return -ERANGE;
        *ret_ns = ns;
        return 0;
    }
    return -EINVAL;
}
