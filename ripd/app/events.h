/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events.h - makes events from the stalls of a scan: numbers them, writes their JSON, stores each on disk, then
 * announces it.
 *
 * Guarantees
 *   A. Sequence and episode numbers begin at 1 and have no gap within one epoch. Events are announced in order of
 *      sequence, each once.
 *   B. If the begin of an episode was announced, its end is announced once, unless ripd is out of memory, which is
 *      logged. With a state directory this holds even if the daemon is killed at any moment: what was announced is on
 *      disk, and on the first scan each open episode is resumed or ended (app/restart.h).
 *   C. Of the episodes of one incident (cases/incidents.h) the log and the command get the begin of the first and the
 *      end of the last. All of them are listed and streamed.
 *   D. A begin waits for the name of its location for at most half an interval. Lists of stalls show the name from then
 *      on, too.
 *   E. cases/case.h decides, by user, which begins and ends are published, and when.
 *   F. A disk that fails, or takes longer than EVENTS_PATIENCE_NS, does not delay events further: ripd announces an
 *      event before it is on disk, counts and logs that, and writes it as soon as the disk accepts it. If ripd ends
 *      before that, its next run may use the event's number again. No call waits for the disk except events_stop(), for
 *      at most two seconds.
 *
 * Used by the scanner thread only.
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
    struct cases *cases; /* resumed episodes are added to it */
    struct work *work;   /* the accounts that the cases are charged to */
    /*
     * Counts incidents, stalls within an episode without a history line, and events announced before they are on disk.
     */
    struct health *health;
    const char *state_directory; /* NULL = none */
    /* Hands the event to its readers. The caller keeps its reference: take another one to keep the event. */
    void (*announce)(void *context, struct event *event);
    void *context;
};

struct events;
/*
 * The objects in options stay the caller's. now_mono_ns starts the budget of events. Returns 0 or -errno; an error of
 * the state directory is logged.
 */
int events_new(struct events **ret_events, const struct events_options *options, uint64_t now_mono_ns);
void events_free(struct events *events); /* NULL is allowed */

/* What the state directory contained; valid until events_start(). Without one, all fields except the epoch are zero. */
void events_found(const struct events *events, struct event_history_found *ret_found);

/* From now on events are accepted. Returns 0 or -errno. */
int events_start(struct events *events);

/* Before the first scan: sets the recorder of published events. NULL = none. */
void events_set_recorder(struct events *events, struct recorder *recorder);

/* Returns the numbers of the last event and the last episode. */
struct recorder_numbers events_numbers(const struct events *events);

/*
 * On each scan between registry_refresh() and detector_begin(). Acts on the first scan only: hands the open episodes of
 * the previous run to the detector.
 */
void events_adopt(struct events *events, struct registry *registry, struct detector *detector, uint64_t now_mono_ns);

/*
 * On each scan between detector_end() and cases_end(). Acts on the first scan only: episodes whose ids have not moved
 * are resumed. They may end on the same scan.
 */
void events_resume(struct events *events, const struct detector *detector);

/* The result of a scan. If registry is NULL, no episode can be recognized after a restart. */
struct events_scan {
    struct registry *registry;
    const struct detector_update *update;
    struct snapshot *moment; /* its times and waits are read */
    /* Returns true if the name of the id's location may still arrive. NULL: no name arrives later. */
    bool (*name_is_pending)(void *context, const struct item *item);
    void *context;
};

/* After cases_end(): publishes what cases_publish() releases, and ends that happened while no ripd ran. */
void events_step(struct events *events, const struct events_scan *scan);

/* Before the cases change: publishes the begins that still wait for a name. */
void events_catch_up(struct events *events);

/*
 * Publishes begins whose names have arrived, and announces events that are on disk. Due when the descriptor is readable
 * (-1: there is none), or after events_wait_ns().
 */
void events_flush(struct events *events, uint64_t now_mono_ns);
int events_descriptor(const struct events *events);
uint64_t events_wait_ns(const struct events *events, uint64_t now_mono_ns);

/* Writes and announces the queued events, within two seconds. */
void events_stop(struct events *events);

#endif
