/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subuid.h - which uids belong to the subordinate ranges of which user, by subuid(5).
 *
 * Names are looked up in a file of the format of passwd(5), not over the name service, which can take for ever.
 */
#ifndef RIPD_OS_SUBUID_H
#define RIPD_OS_SUBUID_H

#include <stddef.h>
#include <stdint.h>

#include "util/uid_range.h"

#define SUBUID_RANGES_MAX 65536u

/*
 * Lines that are not of the form, and names that are not known, are skipped. *ret_ranges is the caller's to free. 0;
 * -errno of opening path; -ENOMEM.
 */
int subuid_read(const char *path, const char *passwd_path, struct uid_range **ret_ranges, size_t *ret_count);

#endif
