/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - from a scan's stalls to events: numbered, told in JSON, announced in order.
 *
 * Guarantees
 *   A. Sequence and episode numbers begin at 1 and have no gap within one epoch; events are announced in order of
 *      sequence, each once.
 *   B. An episode whose begin was announced has its end announced once.
 *   C. Rings that begin more stalls than there is room for share it; what is left out is counted and told in the log.
 *
 * Of the scanner's thread.
 */
#ifndef RIPD_APP_EVENTS_H
#define RIPD_APP_EVENTS_H

#include <stdint.h>

#include "app/stalls.h"
#include "core/detector.h"
#include "core/event.h"

struct events_options {
    uint64_t hysteresis_ns; /* an id that stalls again within this time after it moved is in the same episode */
    /* Tells everybody. The event is the caller's: take a reference to keep it. */
    void (*announce)(void *context, struct event *event);
    void *context;
};

struct events;
/* now_mono_ns: of the beginning, for the budget of events. */
int events_new(struct events **ret_events, const struct events_options *options, uint64_t now_mono_ns);
void events_free(struct events *events);

/* Another hysteresis for the episodes that are open and those to come. */
void events_set_hysteresis(struct events *events, uint64_t hysteresis_ns);

/* Random, not 0. Sequence numbers of different epochs have nothing to
 * do with one another. */
uint64_t events_epoch(const struct events *events);

/* What a scan came to. stalls: the items of the ids that are stalled as of this scan. */
struct events_scan {
    const struct detector_update *update;
    const struct stalls *stalls;
    uint64_t now_mono_ns;
    uint64_t now_wall_ns;
    uint64_t now_boot_ns;
};
void events_step(struct events *events, const struct events_scan *scan);

/* Stalls since the start that became no event. */
uint64_t events_suppressed_count(const struct events *events);

#endif
