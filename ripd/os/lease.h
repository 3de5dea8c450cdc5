/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - a descriptor that its owner may close while other threads still refer to it. Other threads get duplicates
 * until then.
 *
 * Every function may be called by any thread.
 */
#ifndef RIPD_OS_LEASE_H
#define RIPD_OS_LEASE_H

#include "util/reference.h"

struct lease;

/* Returns a lease with one reference, or NULL if out of memory. The descriptor is borrowed until lease_end(). */
struct lease *lease_new(int descriptor);

/* Must be called before the owner closes the descriptor. No duplicate is made afterwards. NULL is allowed. */
void lease_end(struct lease *lease);

REFERENCED(lease); /* NULL is allowed here and below */
void lease_unref(struct lease *lease);

/* Returns a close-on-exec duplicate, owned by the caller; -EBADF if the lease has ended; or another -errno. */
int lease_duplicate(struct lease *lease);

#endif
