/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.h - what the kernel says about suspects, read from /proc within a budget. No signal, no stop, no ptrace.
 *
 * Guarantees
 *   A. A process is asked about only if its verdict is PROCESS_ATTESTED or PROCESS_ALIVE; more than /proc tells anyone
 *      is asked of attested ones alone. Without privileges we are told less, and each fact says what was denied.
 *   B. At most budget_ns of time is spent per call, and some 25 ns per suspect besides; owners of
 *      rings have equal shares of it. Of an owner's suspects those not examined earlier come first, the longest frozen
 *      first among them; what is left is examined on later scans, round robin.
 */
#ifndef RIPD_PROBE_EVIDENCE_H
#define RIPD_PROBE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "detect/detector.h"
#include "ring/registry.h"

#define EVIDENCE_DOUBTS_MAX 256u

struct remote;
struct waits;

struct probe_options {
    const char *proc_path;
    const char *cgroup_path;
    uint64_t budget_ns;
    struct remote *remote; /* who is asked what threads wait for, see probe/remote.h; NULL: nobody, we look ourselves */
    int diag;              /* then to ask about unix sockets over, see os/unix_diag.h; -1 = none; stays the caller's */
    bool anyones; /* nothing is asked but what anyone is told: we have more rights than whoever made a ring, and are not
                     as careful as ripd-probe is in using them */
    struct hash_key hash_key;
};

struct probe;
int probe_new(struct probe **ret_probe, const struct probe_options *options);
void probe_free(struct probe *probe);
void probe_set_budget(struct probe *probe, uint64_t budget_ns); /* from the next evidence_collect() on */

/*
 * What is known of the thread of a suspect of the last call; NULL: nothing. Not a new reference: valid until the next
 * call.
 */
struct kernel_facts *evidence_kernel(const struct probe *probe, uint32_t ring, uint32_t slot, uint32_t generation);

/* What is known of any thread that a signal has stopped; for one that was not looked at. Valid as long as the probe. */
struct kernel_facts *evidence_kernel_stopped(const struct probe *probe);

/* Tables of sockets that were not read to their end, since the beginning. */
uint64_t evidence_sockets_cut_count(const struct probe *probe);

/* Threads of which it was not found out in time who is at the other end of what they wait for, since the beginning. */
uint64_t evidence_ends_cut_count(const struct probe *probe);

/* Fills suspect->evidence of as many suspects as the budget allows. Returns how many were left unexamined. */
size_t evidence_collect(struct probe *probe, struct registry *registry, struct detector_suspect *suspects,
                        size_t count);

/*
 * What waits_collect() makes of it may leave doubts: who is in what looks like a deadlock, but is not proven to be in
 * one. evidence_doubt() has those looked at first on the next call, EVIDENCE_DOUBTS_MAX of them at most, in turns of
 * the owners of their rings, and returns how many they are; waits may be NULL. evidence_confirm() looks at them again
 * now, within a quarter of the budget: that proves a deadlock of threads that were all found on this scan, so that its
 * beginning is told as one.
 */
size_t evidence_doubt(struct probe *probe, struct registry *registry, const struct waits *waits);
void evidence_confirm(struct probe *probe, struct registry *registry, struct detector_suspect *suspects, size_t count);

#endif
