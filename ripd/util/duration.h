/* SPDX-License-Identifier: Apache-2.0 */
/* duration.h - "250ms", "5s", "2m", "1h" as nanoseconds. Pure. */
#ifndef RIPD_UTIL_DURATION_H
#define RIPD_UTIL_DURATION_H

#include <stddef.h>
#include <stdint.h>

/* What a setting that is a duration may be. */
#define DURATION_SETTING_MIN_NS UINT64_C(10000000)          /* 10 ms */
#define DURATION_SETTING_MAX_NS UINT64_C(31536000000000000) /* a year */

/* A whole number and one unit of ms, s, m, h; nothing around it. 0; -EINVAL: not of that form, or too large. */
int duration_parse(const char *text, uint64_t *ret_ns);

#endif
