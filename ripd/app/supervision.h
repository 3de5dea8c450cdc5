/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervision.h - what is sent to the service manager, and when: lines of the protocol of sd_notify(3). Pure.
 *
 * Guarantees
 *   A. READY=1 is sent with the first completed scan and after a reload, never before.
 *   B. WATCHDOG=1 is sent with a completed scan alone, if the manager asked for it: a scanner that hangs is silent.
 *      Scans that come close together leave it out, as long as an eighth of the watchdog's time has not passed.
 *   C. The watchdog is as it was configured, or three intervals where those are longer: twice the longest time that
 *      may lie between two scans of which the second is not late. The manager gets it when that changes.
 *   D. STATUS= is sent when the number of stalls has changed, but not twice within a second; what else it says is sent
 *      every ten seconds, if it has changed.
 *
 * Each function changes *supervision to what it is once the manager has the text. If it could not be sent, go back to
 * the value from before: the next scan sends what is due.
 */
#ifndef RIPD_APP_SUPERVISION_H
#define RIPD_APP_SUPERVISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"

#define SUPERVISION_STATUS_BYTES 160u
#define SUPERVISION_TEXT_BYTES 320u

struct supervision {
    uint64_t configured_watchdog_ns; /* 0 = the manager does not watch */
    uint64_t watchdog_ns;            /* what it watches with, as far as it was sent */
    uint64_t pinged_mono_ns;
    uint64_t status_mono_ns;
    uint64_t status_stall_count;
    char status[SUPERVISION_STATUS_BYTES]; /* as sent */
    char text[SUPERVISION_TEXT_BYTES];     /* what is to be sent, lines; "" = nothing */
    bool ready;
};

void supervision_init(struct supervision *supervision, uint64_t watchdog_ns);

/* Each puts what is to be sent into supervision->text. snapshot: of the scan that has been completed. */
void supervision_scanned(struct supervision *supervision, uint64_t now_mono_ns, const struct snapshot *snapshot);
/* A reload begins, and has ended; scans are interval_ns apart from then on. */
void supervision_reloading(struct supervision *supervision, uint64_t now_mono_ns);
void supervision_reloaded(struct supervision *supervision, uint64_t interval_ns);
void supervision_stopping(struct supervision *supervision);

#endif
