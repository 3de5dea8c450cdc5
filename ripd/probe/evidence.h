/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.h - what the kernel says about suspects, read from /proc into their cases within a budget. No signal, no
 * stop, no ptrace.
 *
 * Guarantees
 *   A. A process is examined only if its verdict is PROCESS_ATTESTED or PROCESS_ALIVE; only of attested ones is more
 *      read than /proc shows to any user. Without privileges the kernel shows less, and each fact names what was
 *      denied.
 *   B. At most budget_ns of time is spent per scan, and some 25 ns per suspect besides. work/jobs.h decides whose turn
 *      it is, by user. Of one user's threads those never examined come first, the longest frozen of them first, then
 *      those in what may be a deadlock, then the others, the longest unexamined first. A process comes before its
 *      threads, and one whose threads all have a verdict after the others' that have none.
 *   C. One look at a process finds what stops it as a whole, for all its suspects.
 *   D. A process is checked again after its threads. If it is not the same any more, nothing that was read counts.
 */
#ifndef RIPD_PROBE_EVIDENCE_H
#define RIPD_PROBE_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/case.h"
#include "cases/health.h"
#include "ring/registry.h"
#include "work/work.h"

struct remote;

struct probe_options {
    const char *proc_path;
    const char *cgroup_path;
    uint64_t budget_ns;
    struct remote *remote; /* the worker of ripd-probe, see probe/remote.h; NULL: the probe reads by itself */
    int diag;     /* then the netlink socket for unix sockets, see os/unix_diag.h; -1 = none; stays the caller's */
    bool anyones; /* read only what any user may read: the daemon is root, and has no worker */
    struct hash_key hash_key;
};

struct probe;
int probe_new(struct probe **ret_probe, const struct probe_options *options);
void probe_free(struct probe *probe);
void probe_set_budget(struct probe *probe, uint64_t budget_ns); /* from the next scan on */

/* Fills in the evidence of as many cases as the budget allows; the queue of work is empty before and after. */
void probe_examine(struct probe *probe, struct registry *registry, struct cases *cases, struct work *work);

/*
 * Examines those that are doubted once more, on the same scan, within a quarter of the budget: that proves a deadlock
 * of threads that were all found on this scan. False: there are none.
 */
bool probe_confirm(struct probe *probe);

/* The scan is over: processes and tables of sockets are forgotten. */
void probe_end(struct probe *probe);

/* What is known of any thread that a signal has stopped, for one that was not examined. Valid as long as the probe. */
struct kernel_facts *probe_stopped_facts(const struct probe *probe);

struct probe_counters {  /* they only grow */
    uint64_t left_count; /* suspects without a verdict that were not examined on HEALTH_PATIENCE_SCANS in a row */
    uint64_t sockets_cut_count; /* tables of sockets that were not read to their end */
    uint64_t ends_cut_count;    /* standstills of threads whose pipe's or socket's other end was not found in time */
};
void probe_count(const struct probe *probe, struct probe_counters *ret_counters);

#endif
