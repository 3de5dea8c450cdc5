/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.h - ripd as a service: takes the sockets that the manager passes, and sends it what app/supervision.h
 * decides. Without a service manager, nothing is sent. Used by the scanner thread only.
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

#define SERVICE_DESCRIPTORS_MIN 24u /* needed without any ring or client */

struct service {
    struct notify notify;
    struct activation activation;
    struct http_passed passed[ACTIVATION_MAX]; /* sockets to listen on */
    size_t passed_count;
    const struct activation_entry *diag; /* to ask about unix sockets (os/unix_diag.h); NULL: none was passed */
    struct supervision supervision;
    uint64_t descriptors_before; /* soft limit before it was raised; 0 = it was not raised */
    bool complained;             /* a failure to reach the manager has been logged */
};

/*
 * Before there are threads or children, because they inherit the limit of descriptors. Returns 0; -EINVAL if a socket
 * that was passed cannot be used; -EMFILE if the limit of descriptors is too low. The error is logged.
 */
int service_open(struct service *service);
void service_close(struct service *service);

/* Logs the sockets that were passed, once http listens on them. */
void service_report_sockets(const struct service *service, const struct http *http);

/* After a scan was completed and published as snapshot. Never call it for another reason: it feeds the watchdog. */
void service_scanned(struct service *service, const struct snapshot *snapshot);
/* Before and after a reload, whether it succeeds or not. interval_ns is the one in force afterwards. */
void service_reloading(struct service *service);
void service_reloaded(struct service *service, uint64_t interval_ns);
void service_stopping(struct service *service);

#endif
