/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim.h - what a process record claims, and what the kernel says about it, for identity_judge(). Touches the ring's
 * descriptor, for its locks, and /proc. For ripd/ring, and for the worker of ripd-probe, which asks once more.
 */
#ifndef RIPD_RING_CLAIM_H
#define RIPD_RING_CLAIM_H

#include "ring/identity.h"
#include "ring/mapping.h"

/* own_pid_namespace: of the reader; 0 = not known. The ring is taken to be of this boot. */
struct identity_facts claim_facts(const struct mapping *mapping, const struct rip_process_info *claim,
                                  uint64_t own_pid_namespace);

/* Fills in locks_known, holder_pid and life_locked. Returns the holder as file_lock_holder() has it. */
uint32_t claim_ask_locks(const struct mapping *mapping, uint32_t index, struct identity_facts *facts);

/* Fills in what /proc says of facts->pid. -ESRCH: it shows no such process; it may still hide it. */
int claim_look_up(int proc, struct identity_facts *facts);

#endif
