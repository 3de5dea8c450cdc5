/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - makes events of a scan's stalls: numbers them, writes their JSON, keeps them, announces them in order.
 *
 * Guarantees
 *   A. Sequence and episode numbers begin at 1 and have no gap within one epoch; events are announced in order of
 *      sequence, each once.
 *   B. An episode whose begin was announced has its end announced once, unless there is no memory for it, which is
 *      logged. With a state directory this holds whatever kills the daemon, at any moment: what was announced is on
 *      disk (app/publisher.h), and on the first scan each episode that was open goes on or is ended (app/restart.h).
 *   C. Of the episodes of one incident (cases/incidents.h) the log and the command get the begin of the first and the
 *      end of the last; all are listed and streamed.
 *   D. A begin waits for the name of its location for half an interval at most: lists of stalls show it then, too.
 *   E. Which begins and ends are published, and when, is decided in cases/case.h, by user.
 *
 * Of the scanner's thread.
 */
#ifndef RIPD_APP_EVENTS_H
#define RIPD_APP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "app/publisher.h"
#include "app/recorder.h"
#include "cases/case.h"
#include "cases/snapshot.h"
#include "detect/detector.h"
#include "ring/registry.h"

struct events_options {
    struct cases *cases; /* an adopted episode is put into it */
    struct work *work;   /* whose accounts the cases are on */
    struct publisher *publisher;
    struct health *health; /* incidents, and stalls within an episode without a line in the history */
};

struct events;
/* What the options name stays the caller's. now_mono_ns: of the beginning, for the budget of events. */
int events_new(struct events **ret_events, const struct events_options *options, uint64_t now_mono_ns);
void events_free(struct events *events);

/* Before the first scan: who records what is published. NULL = nobody. */
void events_set_recorder(struct events *events, struct recorder *recorder);

/* Of the last event and the last episode so far. */
struct recorder_numbers events_numbers(const struct events *events);

/*
 * On each scan between registry_refresh() and detector_begin(); does something on the first: the detector is asked
 * about the episodes that were open.
 */
void events_adopt(struct events *events, struct registry *registry, struct detector *detector, uint64_t now_mono_ns);

/*
 * Between detector_end() and cases_end(); does something on the first scan: the episodes whose ids stand where they
 * stood go on, and may end on that very scan.
 */
void events_resume(struct events *events, const struct detector *detector);

/* What a scan came to. registry: the rings; NULL: not known, and no episode is recognised after a restart. */
struct events_scan {
    struct registry *registry;
    const struct detector_update *update;
    struct snapshot *moment; /* its times and waits are read */
    /* Whether the name of an id's location may still come; NULL: none does. */
    bool (*names_come)(void *context, const struct item *item);
    void *context;
};

/* After cases_end(): publishes what cases_publish() lets through, and ends that came while no ripd ran. */
void events_step(struct events *events, const struct events_scan *scan);

/* Before the cases change: publishes the begins that still wait for a name. */
void events_catch_up(struct events *events);

/* Publishes begins that have their names by now, and announces what has got to disk. Due when the publisher's
 * descriptor is readable, or after this time. */
void events_flush(struct events *events, uint64_t now_mono_ns);
uint64_t events_wait_ns(const struct events *events, uint64_t now_mono_ns);

/* Writes and announces the events still queued, within two seconds. */
void events_stop(struct events *events);

#endif
