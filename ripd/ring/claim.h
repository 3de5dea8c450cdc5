/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim.h - collects, for identity_judge(), what a process record claims and what the kernel says about it. Touches the
 * ring's descriptor, for its locks, and /proc. Used by ripd/ring, and by the worker of ripd-probe, which checks again.
 */
#ifndef RIPD_RING_CLAIM_H
#define RIPD_RING_CLAIM_H

#include "ring/identity.h"
#include "ring/mapping.h"

/* own_pid_namespace is the reader's; 0 = not known. The ring is assumed to be of this boot. */
struct identity_facts claim_facts(const struct mapping *mapping, const struct rip_process_info *claim,
                                  uint64_t own_pid_namespace);

/* Fills in locks_known, holder_pid and life_locked. Returns the holder as file_lock_holder() does. */
uint32_t claim_ask_locks(const struct mapping *mapping, uint32_t index, struct identity_facts *facts);

/*
 * Fills in what /proc says about facts->pid. Returns 0, -ESRCH if /proc shows no such process (it may be hidden), or
 * another -errno.
 */
int claim_look_up(int proc, struct identity_facts *facts);

#endif
