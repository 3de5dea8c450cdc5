/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - makes events of a scan's stalls: numbers them, writes their JSON, has each on disk first, then announces
 * it.
 *
 * Guarantees
 *   A. Sequence and episode numbers begin at 1 and have no gap within one epoch; events are announced in order of
 *      sequence, each once.
 *   B. An episode whose begin was announced has its end announced once, unless there is no memory for it, which is
 *      logged. With a state directory this holds whatever kills the daemon, at any moment: what was announced is on
 *      disk, and on the first scan each episode that was open goes on or is ended (app/restart.h).
 *   C. Of the episodes of one incident (cases/incidents.h) the log and the command get the begin of the first and the
 *      end of the last; all are listed and streamed.
 *   D. A begin waits for the name of its location for half an interval at most: lists of stalls show it then, too.
 *   E. Which begins and ends are published, and when, is decided in cases/case.h, by user.
 *   F. A disk that fails, or takes longer than EVENTS_PATIENCE_NS, delays no event further: ripd announces it before it
 *      is on disk, counts and logs that, and writes it as soon as the disk takes it. If ripd ends before that, its next
 *      run may use the event's number again. No call waits for the disk but events_stop(), for two seconds at most.
 *
 * Of the scanner's thread.
 */
#ifndef RIPD_APP_EVENTS_H
#define RIPD_APP_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "app/recorder.h"
#include "cases/case.h"
#include "cases/snapshot.h"
#include "detect/detector.h"
#include "record/event_history.h"
#include "ring/registry.h"

#define EVENTS_PATIENCE_NS UINT64_C(2000000000)

struct events_options {
    struct cases *cases; /* an adopted episode is put into it */
    struct work *work;   /* whose accounts the cases are on */
    struct health
        *health; /* incidents, stalls within an episode without a line, events announced before they are kept */
    const char *state_directory; /* NULL = none */
    /* Hands the event to its readers. The reference stays the caller's: take another to keep the event. */
    void (*announce)(void *context, struct event *event);
    void *context;
};

struct events;
/*
 * What the options name stays the caller's. now_mono_ns: of the beginning, for the budget of events. 0 or -errno; that
 * the state directory cannot be had is logged.
 */
int events_new(struct events **ret_events, const struct events_options *options, uint64_t now_mono_ns);
void events_free(struct events *events); /* NULL is allowed */

/* What the state directory held; valid until events_start(). Without one all is zero but the epoch. */
void events_found(const struct events *events, struct event_history_found *ret_found);

/* From here on events are taken. 0 or -errno. */
int events_start(struct events *events);

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

/* Publishes begins that have their names by now, and announces what has got to disk. Due when the descriptor is
 * readable (-1: never), or after this time. */
void events_flush(struct events *events, uint64_t now_mono_ns);
int events_descriptor(const struct events *events);
uint64_t events_wait_ns(const struct events *events, uint64_t now_mono_ns);

/* Writes and announces the events still queued, within two seconds. */
void events_stop(struct events *events);

#endif
