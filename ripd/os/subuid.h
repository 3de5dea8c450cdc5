/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subuid.h - the ranges of subordinate uids of each user, see subuid(5).
 *
 * User names are looked up in a file of the format of passwd(5), not by the name service, which may block.
 */
#ifndef RIPD_OS_SUBUID_H
#define RIPD_OS_SUBUID_H

#include <stddef.h>
#include <stdint.h>

#include "util/uid_range.h"

#define SUBUID_RANGES_MAX 65536u

/*
 * Skips malformed lines and unknown names. The caller frees *ret_ranges. Returns 0, the -errno of opening path, or
 * -ENOMEM.
 */
int subuid_read(const char *path, const char *passwd_path, struct uid_range **ret_ranges, size_t *ret_count);

#endif
