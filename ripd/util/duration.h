/* SPDX-License-Identifier: Apache-2.0 */
/* duration.h - "250ms", "5s", "2m", "1h" as nanoseconds. Pure. */
#ifndef RIPD_UTIL_DURATION_H
#define RIPD_UTIL_DURATION_H

#include <stddef.h>
#include <stdint.h>

/* Range of a duration in the configuration. */
#define DURATION_SETTING_MIN_NS UINT64_C(10000000)          /* 10 ms */
#define DURATION_SETTING_MAX_NS UINT64_C(31536000000000000) /* a year */

/*
 * Parses a whole number with one unit: ms, s, m or h, without blanks. Returns 0, or -EINVAL if it has another form or
 * is too large.
 */
int duration_parse(const char *text, uint64_t *ret_ns);

#endif
