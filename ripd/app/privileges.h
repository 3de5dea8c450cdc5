/* SPDX-License-Identifier: Apache-2.0 */
/*
 * privileges.h - ripd-probe, which may read more of processes than any user may, and ripd, which gives that up.
 *
 * Guarantees
 *   A. Where ripd is not root, it holds no capability once privileges_open() has returned; if it had any, it can get
 *      none again, nor can a command that it runs.
 *   B. Root stays root, as long as it is asked for by hand: who owns all of the system's files would give up nothing
 *      with its capabilities, and would see no ring but its own.
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
    struct remote *remote; /* NULL: there is no ripd-probe, and ripd looks for itself */
    int diag;              /* to ask about unix sockets over (os/unix_diag.h), -1 = none */
    int diag_error;        /* why there is none */
    struct remote_counters reported;
    struct fetch *fetch; /* NULL: nobody opens files that ripd cannot */
    struct fetch_counters fetch_reported;
    struct report_budget budget; /* of lines about processes */
    bool of_all_users;           /* what ripd-probe may know */
};

/*
 * Before there are other threads, and before anything is opened. diag: as the service manager passed it, taken over;
 * -1: it did not, and we make one of our own. 0, or -errno: capabilities could not be given up.
 */
int privileges_open(struct privileges *ret_privileges, int diag);
void privileges_close(struct privileges *privileges);

/* Logs whose processes are examined. */
void privileges_log(const struct privileges *privileges);

/* Logs processes of whose stalls something is null because ripd may not read it: each once. */
void privileges_log_denied(struct privileges *privileges, const struct snapshot *snapshot, uint64_t now_mono_ns);

/* Logs and counts the ends of workers since the last call. */
void privileges_report(struct privileges *privileges, struct health *health);

#endif
