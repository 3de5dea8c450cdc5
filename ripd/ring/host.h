/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - what the modules of ripd/ring share beside the rings: the host as /proc shows it, notices for the log,
 * counters, and whose rings have a turn. For ripd/ring alone.
 *
 * Guarantees
 *   A. A user's rings have the time that his account allows (work/work.h). When it runs out, the next scan continues
 *      with the first ring that had no turn, so each ring gets one in the end.
 *   B. A limit is noticed once.
 */
#ifndef RIPD_RING_HOST_H
#define RIPD_RING_HOST_H

#include "cases/symbol_charges.h"
#include "ring/registry.h"
#include "work/work.h"

#define HOST_REASONS_MAX 16u /* different ones; there are fewer */

struct ring_host {
    int proc;                   /* -1 = none */
    struct proc_reader *reader; /* of what may not return */
    bool processes_hidden;      /* /proc hides processes: one that it does not show may be alive */
    const char *cgroup_path;    /* NULL = none */
    uint32_t stop_pass;         /* of stops_look() */
    uint64_t pid_namespace;
    uint8_t boot_id[16];
    struct hash_key hash_key;

    int ends_epoll;               /* readable when a watched process has ended; -1 = ends are not noticed */
    struct end_watch *ends_noted; /* of those that have ended, and have not been returned; see ring/ends.h */
    struct work *work;
    bool owns_work;
    struct symbol_charges script_charges;
    bool is_first; /* refresh: whatever was open when ripd stopped has to be read on it */

    registry_noticed *noticed; /* NULL = nobody hears of them */
    void *notice_context;
    const char *reasons_noticed[HOST_REASONS_MAX];
    size_t reason_count;
    struct health *health;
    struct health own_health; /* where the caller has none */
};

/* The registry's, and its descriptor of /proc. */
struct ring_host *registry_host(struct registry *registry);
int registry_proc(const struct registry *registry);

/* Descriptor of the directory that a ring's file is in; -1 = it is missing. */
int registry_place(const struct registry *registry, const struct ring *ring);

/* 0, -ENOMEM, or -ENOENT: there is no such /proc. Clean up with host_done() in any case. */
int host_init(struct ring_host *host, const struct registry_options *options);
void host_done(struct ring_host *host);

/* Time for all users together, per scan: judging_ns for one who is alone, and ten times as much for reading. */
void host_set_time(struct ring_host *host, uint64_t judging_ns);

/* reason may be NULL. */
void host_notice(const struct ring_host *host, enum registry_notice_kind kind, const char *name, const char *reason);

/* Notices once that a limit was hit; reason is static. host_limit() also counts it, each time. */
void host_notice_limit(struct ring_host *host, const char *reason);
void host_limit(struct ring_host *host, enum health_limit limit, const char *reason);

/* A new refresh: the turns begin. */
void host_begin(struct ring_host *host);

/* Whether a ring has a turn on this scan: WORK_READ_TIME to be read, WORK_PROCESS_TIME for its processes. */
bool host_has_turn(struct ring_host *host, const struct ring *ring, enum work_limit limit);

/* Whether its user still has time for another part of it; if not, the next scan continues behind the ring. */
bool host_spend(struct ring_host *host, const struct ring *ring, enum work_limit limit, uint64_t spent_ns);

/*
 * Grants a user time beside the turns, at most wanted_ns; 0 = none on this scan, which is counted. The caller reports
 * with host_use() how much it used.
 */
uint64_t host_grant(struct ring_host *host, uint32_t user, enum work_limit limit, uint64_t wanted_ns);
void host_use(struct ring_host *host, uint32_t user, enum work_limit limit, uint64_t spent_ns);

#endif
