/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - ripd as a service: takes the sockets that the manager passes, and sends it what app/supervision.h
 * decides. All on the scanner's thread. Where there is no manager, nothing happens.
 */
#ifndef RIPD_APP_SERVICE_H
#define RIPD_APP_SERVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "app/supervision.h"
#include "cases/snapshot.h"
#include "net/http.h"
#include "os/activation.h"
#include "os/notify.h"

#define SERVICE_DESCRIPTORS_MIN 24u /* that ripd needs without a ring or a client */

struct service {
    struct notify notify;
    struct activation activation;
    struct http_passed passed[ACTIVATION_MAX]; /* those to listen on */
    size_t passed_count;
    const struct activation_entry *diag; /* to ask about unix sockets over (os/unix_diag.h); NULL: none was passed */
    struct supervision supervision;
    uint64_t descriptors_before; /* soft limit before it was raised to the hard one; 0 = it was not */
    bool complained;             /* it is logged that the manager cannot be reached */
};

/*
 * Before there are threads, and before a child is started: they inherit the limit of descriptors. -EINVAL: a socket
 * that was passed cannot be used; -EMFILE: too few descriptors are allowed. The log says why.
 */
int service_open(struct service *service);
void service_close(struct service *service);

/* Into the log: what was passed, once http listens on it. */
void service_report_sockets(const struct service *service, const struct http *http);

/* A scan has been completed, and published as snapshot. Never call it for any other reason: it feeds the watchdog. */
void service_scanned(struct service *service, const struct snapshot *snapshot);
/* Around a reload, whether it succeeds or not: interval_ns is the one that is in force afterwards. */
void service_reloading(struct service *service);
void service_reloaded(struct service *service, uint64_t interval_ns);
void service_stopping(struct service *service);

#endif
