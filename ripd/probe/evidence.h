/* SPDX-License-Identifier: Apache-2.0 */
/*
 * evidence.h - reads what the kernel knows about suspects from /proc into their cases, within a budget. It sends no
 * signal, stops nothing and uses no ptrace.
 *
 * Guarantees
 *   A. A process is examined only if its verdict is PROCESS_ATTESTED or PROCESS_ALIVE. If it is not attested, only what
 *      /proc shows to any user is read. Without privileges the kernel shows less; each fact names what was denied.
 *   B. A scan takes at most budget_ns, and about 25 ns per suspect in addition. work/jobs.h decides which user is next.
 *      Among the threads of one user, those never examined come first (the longest frozen first), then those that may
 *      be in a deadlock, then the others (the longest unexamined first). A process comes before its threads. A process
 *      whose threads all have a verdict comes after the threads without a verdict.
 *   C. One look at a process finds what stops it as a whole, for all its suspects.
 *   D. A process is checked again after its threads were read. If it is not the same any more, everything that was read
 *      is dropped.
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
    struct remote *remote; /* the worker of ripd-probe, see probe/remote.h; NULL: the probe reads /proc itself */
    int diag;              /* without worker: netlink socket for unix sockets (os/unix_diag.h), borrowed; -1 = none */
    bool anyones;          /* read only what any user may read: ripd is root and has no worker */
    struct hash_key hash_key;
};

struct probe;
int probe_new(struct probe **ret_probe, const struct probe_options *options);
void probe_free(struct probe *probe);
void probe_set_budget(struct probe *probe, uint64_t budget_ns); /* from the next scan on */

/* Fills in the evidence of as many cases as the budget allows. The queue of work is empty before and after. */
void probe_examine(struct probe *probe, struct registry *registry, struct cases *cases, struct work *work);

/*
 * Examines the doubted threads again on the same scan, within a quarter of the budget. This confirms a deadlock whose
 * threads were all found on this scan. Returns false if there are none.
 */
bool probe_confirm(struct probe *probe);

/* Ends a scan: drops its processes and socket tables. */
void probe_end(struct probe *probe);

/* Returns the facts for a thread that was stopped by a signal but not examined. Valid until probe_free(). */
struct kernel_facts *probe_stopped_facts(const struct probe *probe);

struct probe_counters {         /* monotonic */
    uint64_t left_count;        /* suspects without a verdict, not examined on HEALTH_PATIENCE_SCANS scans in a row */
    uint64_t sockets_cut_count; /* socket tables that were not read to their end */
    uint64_t ends_cut_count;    /* standstills for which the other end of a pipe or socket was not found in time */
};
void probe_count(const struct probe *probe, struct probe_counters *ret_counters);

#endif
