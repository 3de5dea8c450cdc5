/* SPDX-License-Identifier: Apache-2.0 */
/* rfc3339.h - "2026-11-20T09:41:07.120Z" as nanoseconds since 1970. Pure. */
#ifndef RIPD_UTIL_RFC3339_H
#define RIPD_UTIL_RFC3339_H

#include <stdint.h>

/*
 * Parses a date and time followed by Z or an offset, from 1970 to 2500. A blank before the digits of an offset counts
 * as '+', because a '+' in a URL query is decoded to a blank. Returns 0 or -EINVAL.
 */
int rfc3339_parse(const char *text, uint64_t *ret_wall_ns);

#endif
