/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privileges.h - starts ripd-probe, which may read more about processes than other users may, and drops that right in
 * ripd.
 *
 * Guarantees
 *   A. If ripd is not root, it holds no capability after privileges_open() has returned. Neither ripd nor a command
 *      that it runs can get a capability again.
 *   B. Root keeps its capabilities, because only an administrator starts ripd as root. The owner of all system files
 *      would give up nothing with its capabilities, but would see only its own rings.
 */
#ifndef RIPD_APP_PRIVILEGES_H
#define RIPD_APP_PRIVILEGES_H

#include <stdbool.h>

#include "app/report.h"
#include "cases/health.h"
#include "cases/snapshot.h"
#include "probe/fetch.h"
#include "probe/remote.h"

struct privileges {
    struct remote *remote; /* NULL: there is no ripd-probe, ripd reads evidence itself */
    int diag;              /* to ask about unix sockets (os/unix_diag.h), -1 = none */
    int diag_error;        /* errno if diag is -1 */
    struct remote_counters reported;
    struct fetch *fetch; /* NULL: files that ripd cannot open stay closed */
    struct fetch_counters fetch_reported;
    struct report_budget budget; /* for lines about processes */
    bool of_all_users;           /* ripd-probe may examine all users */
};

/*
 * Before there are other threads, and before anything is opened. diag is the socket that the service manager passed,
 * and ownership of it is taken; -1: none was passed, and one is created. Returns 0, or -errno if capabilities could not
 * be dropped.
 */
int privileges_open(struct privileges *ret_privileges, int diag);
void privileges_close(struct privileges *privileges);

/* Logs whose processes are examined. */
void privileges_log(const struct privileges *privileges);

/* Logs, once per process, that evidence about its stalls is null because reading it was denied. */
void privileges_log_denied(struct privileges *privileges, const struct snapshot *snapshot, uint64_t now_mono_ns);

/* Logs and counts the ends of workers since the last call. */
void privileges_report(struct privileges *privileges, struct health *health);

#endif
