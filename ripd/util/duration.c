/* SPDX-License-Identifier: Apache-2.0 */
/* duration.c - parses durations. Pure; no locale, no floating point. */
#include "util/duration.h"

#include <errno.h>
#include <string.h>

#include "util/array.h"
#include "util/text.h"

static const struct unit {
    const char *suffix;
    uint64_t ns;
} units[] = {
    {"ms", UINT64_C(1000000)},
    {"s", UINT64_C(1000000000)},
    {"m", UINT64_C(60000000000)},
    {"h", UINT64_C(3600000000000)},
};

int duration_parse(const char *text, uint64_t *ret_ns)
{
    uint64_t number;
    const char *end = text_digit(*text) <= 9 ? text_decimal(text, UINT64_MAX, &number) : NULL;

    for (size_t i = 0; end != NULL && i < ARRAY_COUNT(units); i++) {
        uint64_t ns;

        if (strcmp(end, units[i].suffix) != 0)
            continue;
        /* INT64_MAX ns is 292 years: sums of two durations stay within 64 bits */
        if (__builtin_mul_overflow(number, units[i].ns, &ns) || ns > INT64_MAX)
            return -EINVAL;
        *ret_ns = ns;
        return 0;
    }
    return -EINVAL;
}
