/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - a descriptor whose owner may close it while other threads still refer to it: they get duplicates until
 * then.
 *
 * Every function may be called by any thread.
 */
#ifndef RIPD_OS_LEASE_H
#define RIPD_OS_LEASE_H

#include "util/reference.h"

struct lease;

/* Of a descriptor, which stays the caller's; one reference. NULL: no memory. */
struct lease *lease_new(int descriptor);

/* Before the owner closes it: from here on nobody gets a duplicate. NULL is allowed. */
void lease_end(struct lease *lease);

REFERENCED(lease); /* NULL is allowed, as it is below */
void lease_unref(struct lease *lease);

/* A duplicate, close-on-exec, the caller's; -EBADF: the lease has ended; another -errno. */
int lease_duplicate(struct lease *lease);

#endif
