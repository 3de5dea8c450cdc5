/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervision.h - what is sent to the service manager, and when: lines of the protocol of sd_notify(3). Pure.
 *
 * Guarantees
 *   A. READY=1 is sent with the first completed scan and after a reload, never before.
 *   B. WATCHDOG=1 is sent only with a completed scan, if the manager asked for it. If the scanner hangs, no ping is
 *      sent. Pings are at least an eighth of the watchdog's time apart.
 *   C. The watchdog is the configured one, or three intervals if that is longer. Three intervals are twice the longest
 *      time between two scans that does not make the second one late. A change is sent to the manager.
 *   D. STATUS= is sent when the number of stalls has changed, but at most once per second. Other changes of its text
 *      are sent at most every ten seconds.
 *
 * Each function changes *supervision to the state after its text has been sent. If sending fails, restore the previous
 * value: the next scan sends what is due.
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
    uint64_t configured_watchdog_ns; /* 0 = the manager has no watchdog */
    uint64_t watchdog_ns;            /* the watchdog in force, as far as it was sent */
    uint64_t pinged_mono_ns;
    uint64_t status_mono_ns;
    uint64_t status_stall_count;
    char status[SUPERVISION_STATUS_BYTES]; /* as sent */
    char text[SUPERVISION_TEXT_BYTES];     /* lines to be sent; "" = nothing */
    bool ready;
};

void supervision_init(struct supervision *supervision, uint64_t watchdog_ns);

/* Each function puts the lines to be sent into supervision->text. snapshot is the one of the completed scan. */
void supervision_scanned(struct supervision *supervision, uint64_t now_mono_ns, const struct snapshot *snapshot);
/* A reload begins, and has ended; from then on scans are interval_ns apart. */
void supervision_reloading(struct supervision *supervision, uint64_t now_mono_ns);
void supervision_reloaded(struct supervision *supervision, uint64_t interval_ns);
void supervision_stopping(struct supervision *supervision);

#endif
