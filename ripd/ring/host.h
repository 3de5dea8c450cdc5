/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - what the modules of ripd/ring share apart from the rings: the host as /proc shows it, notices for the log,
 * counters, and whose rings have a turn. For ripd/ring alone.
 *
 * Guarantees
 *   A. The rings of a user get the time that the user's account allows (work/work.h). When it is used up, the next scan
 *      continues with the first ring that had no turn, so each ring gets its turn eventually.
 *   B. A limit is reported once.
 */
#ifndef RIPD_RING_HOST_H
#define RIPD_RING_HOST_H

#include "cases/symbol_charges.h"
#include "ring/registry.h"
#include "work/work.h"

#define HOST_REASONS_MAX 16u /* there are fewer different ones */

struct ring_host {
    int proc;                   /* -1 = none */
    struct proc_reader *reader; /* for reads that may block */
    bool processes_hidden;      /* /proc hides processes: a process that it does not show may be alive */
    const char *cgroup_path;    /* NULL = none */
    uint64_t pid_namespace;
    uint8_t boot_id[16];
    struct hash_key hash_key;

    int ends_epoll;               /* readable when a watched process has ended; -1 = ends are not noticed */
    struct end_watch *ends_noted; /* list of those that have ended and were not returned yet; see ring/ends.h */
    struct work *work;
    bool owns_work;
    struct symbol_charges script_charges;
    bool is_first; /* first scan: no time limit, so that stalls from before a restart are found again */

    registry_noticed *noticed; /* NULL = no notices */
    void *notice_context;
    const char *reasons_noticed[HOST_REASONS_MAX];
    size_t reason_count;
    struct health *health;
    struct health own_health; /* used if the caller has none */
};

/* Accessors of the registry: its host and its descriptor of /proc. */
struct ring_host *registry_host(struct registry *registry);
int registry_proc(const struct registry *registry);

/* Returns the descriptor of the directory that contains the ring's file, or -1 if the directory is missing. */
int registry_place(const struct registry *registry, const struct ring *ring);

/* Returns 0, -ENOMEM, or -ENOENT if there is no such /proc. Call host_done() in any case. */
int host_init(struct ring_host *host, const struct registry_options *options);
void host_done(struct ring_host *host);

/*
 * Sets the time per scan. A single user may use judging_ns for judging, all users together twice as much. For reading
 * they get ten times judging_ns.
 */
void host_set_time(struct ring_host *host, uint64_t judging_ns);

/* See registry_noticed. */
void host_notice(const struct ring_host *host, uint32_t user, enum registry_notice_kind kind, const char *name,
                 const char *reason);

/*
 * Report, once, that a limit was hit. reason is a static string. host_limit() also increments the limit's counter on
 * each call.
 */
void host_notice_limit(struct ring_host *host, const char *reason);
void host_limit(struct ring_host *host, enum health_limit limit, const char *reason);

/* Begins a refresh: budgets of time are reset. */
void host_begin(struct ring_host *host);

/*
 * Returns true if a ring has a turn on this scan. limit is WORK_READ_TIME for reading the ring, or WORK_PROCESS_TIME
 * for its processes.
 */
bool host_has_turn(struct ring_host *host, const struct ring *ring, enum work_limit limit);

/*
 * Charges the user of the ring. Returns true if the user has time left for another part of the ring. If not, the next
 * scan continues after the ring.
 */
bool host_spend(struct ring_host *host, const struct ring *ring, enum work_limit limit, uint64_t spent_ns);

/*
 * Grants a user time independently of the turns, at most wanted_ns. Returns 0 if the user gets none on this scan, which
 * is counted. The caller reports with host_use() how much it used.
 */
uint64_t host_grant(struct ring_host *host, uint32_t user, enum work_limit limit, uint64_t wanted_ns);
void host_use(struct ring_host *host, uint32_t user, enum work_limit limit, uint64_t spent_ns);

#endif
