/* SPDX-License-Identifier: Apache-2.0 */
/* claims.h - whether a ring has the memory that it tells its readers to read. */
#ifndef RIPD_RING_CLAIMS_H
#define RIPD_RING_CLAIMS_H

#include "ring/mapping.h"

/*
 * 0: it has, or its file system does not tell; 1: it has not, and reading it would allocate what is missing; -EIO: it
 * was cut, and the mapping is damaged from now on.
 */
int claims_check(struct mapping *mapping, const struct rip_ring_info *info);

#endif
