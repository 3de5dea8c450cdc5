/* SPDX-License-Identifier: Apache-2.0 */
/* uid_range.h - uids that count as one user: a subordinate range (subuid(5)). Pure. */
#ifndef RIPD_UTIL_UID_RANGE_H
#define RIPD_UTIL_UID_RANGE_H

#include <stdint.h>

struct uid_range {
    uint32_t first; /* first uid of the range */
    uint32_t count;
    uint32_t user; /* the user that has the range */
};

#endif
