/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - from a scan's stalls to events: numbered, told in JSON, kept, announced in order.
 *
 * Guarantees
 *   A. Sequence and episode numbers begin at 1 and have no gap within one epoch; events are announced in order of
 *      sequence, each once.
 *   B. An episode whose begin was announced has its end announced once, unless there is no memory for it, which the log
 *      tells. With a state directory this holds whatever
 *      kills the daemon, at any moment: what was announced is on disk (app/chronicle.h), and on the first scan each
 *      episode that was open goes on or is ended (app/restart.h).
 *   C. Rings that begin more stalls than there is room for share it; what is left out is counted and told in the log.
 *
 * Of the scanner's thread.
 */
#ifndef RIPD_APP_EVENTS_H
#define RIPD_APP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "app/chronicle.h"
#include "app/stalls.h"
#include "cases/event.h"
#include "detect/detector.h"
#include "ring/registry.h"

struct events_options {
    uint64_t hysteresis_ns; /* an id that stalls again within this time after it moved is in the same episode */
    struct chronicle_options chronicle;
    struct hash_key hash_key;
};

struct events;
/* now_mono_ns: of the beginning, for the budget of events. What fails on account of the state directory is logged. */
int events_new(struct events **ret_events, const struct events_options *options, uint64_t now_mono_ns);
void events_free(struct events *events);

/* Another hysteresis for the episodes that are open and those to come. */
void events_set_hysteresis(struct events *events, uint64_t hysteresis_ns);

/* Random, not 0. Sequence numbers of different epochs have nothing to do with one another. */
uint64_t events_epoch(const struct events *events);

/*
 * Hands the events of former runs to tell, oldest first, and from then on writes to the state directory. Once, before
 * the first scan. 0 or -errno.
 */
int events_start(struct events *events, void (*tell)(void *context, struct event *event), void *context);

/*
 * On each scan between registry_refresh() and detector_begin(); does something on the first: the detector is asked
 * about the episodes that were open. refreshed: whether registry_refresh() succeeded.
 */
void events_adopt(struct events *events, struct registry *registry, bool refreshed, struct detector *detector);

/* What a scan came to. stalls: the items of the ids that are stalled as of this scan. registry: the rings they are of;
   NULL: not known, and no episode is known again after a restart. */
struct events_scan {
    struct registry *registry;
    const struct detector_update *update;
    const struct stalls *stalls;
    uint64_t now_mono_ns;
    uint64_t now_wall_ns;
    uint64_t now_boot_ns;
    struct waits *waits; /* of the same scan; NULL = there are none */
};
void events_step(struct events *events, const struct events_scan *scan);

/* Announces what has got to disk. Due when the descriptor is readable (-1: never), or after this time. */
void events_flush(struct events *events, uint64_t now_mono_ns);
int events_descriptor(const struct events *events);
uint64_t events_wait_ns(const struct events *events, uint64_t now_mono_ns);

/* Writes and announces what is left, within two seconds. */
void events_stop(struct events *events);

/* Events since the start that were announced without being on disk. */
uint64_t events_error_count(const struct events *events);
/* Stalls since the start within an episode, of which the history has no line. */
uint64_t events_unnoted_count(const struct events *events);
/* Stalls since the start that became no event. */
uint64_t events_suppressed_count(const struct events *events);

#endif
