/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_history.h - events on disk, written by a separate thread, and read again at start.
 *
 * Guarantees
 *   A. After event_history_start(), no call waits for the disk. A hanging or full disk may lose events from the files,
 *      but never delays a scan.
 *   B. Events are written in order of sequence. Failed writes are retried, and at most EVENT_HISTORY_QUEUE_MAX events
 *      wait. If more are lost, the next file begins with the last numbers and the open episodes: no number is used
 *      twice, and no begin or end is published again.
 *   C. event_history_state(): events up to "written" are on disk, in the sense of fdatasync(2).
 *   D. The newest events and all open episodes survive: every file begins with the begins of the episodes that were
 *      open then, however old.
 */
#ifndef RIPD_RECORD_EVENT_HISTORY_H
#define RIPD_RECORD_EVENT_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"
#include "record/event_load.h"

#define EVENT_HISTORY_QUEUE_MAX 4096u /* events that wait for the disk */
#define EVENT_HISTORY_RETRY_NS UINT64_C(1000000000)
#define EVENT_HISTORY_CLOSE_NS UINT64_C(2000000000) /* timeout of closing for pending writes */

struct event_history;

/*
 * Opens the history in a directory and reads it. epoch is for a new history. Returns 0 or -errno; then *ret_error is
 * one line, to be freed by the caller, or NULL.
 */
int event_history_open(struct event_history **ret_history, const char *path, uint64_t epoch, char **ret_error);

/* What was loaded. The events are ordered by sequence. The arrays are valid until event_history_start(). */
struct event_history_found {
    uint64_t epoch;
    uint64_t sequence; /* of the last event ever; 0 = none */
    uint64_t episode;  /* number of the last episode ever; 0 = none */
    struct event *const *events;
    size_t event_count;
    const struct event_open *open;
    size_t open_count;
    uint64_t damaged_count; /* lines that were skipped */
    bool torn;              /* the last line was incomplete, and has been cut off */
    const char *aside;      /* new name of a file that was not a history; NULL = none */
};
void event_history_found(const struct event_history *history, struct event_history_found *ret_found);

/* Starts the thread that writes, and releases the loaded events. Returns 0 or -errno. */
int event_history_start(struct event_history *history);

/* In order of sequence. subject is NULL unless the event is a begin. */
void event_history_add(struct event_history *history, struct event *event, const struct event_subject *subject);

/* Records that the id of an open episode moved and stalled again within the episode, with its new progress. */
void event_history_stall_again(struct event_history *history, uint64_t episode, uint64_t progress,
                               uint64_t frozen_mono_ns, uint64_t moved_after_mono_ns);

/* Progress of the thread. */
struct event_history_state {
    uint64_t written;    /* sequence of the last event on disk */
    int error;           /* of the last attempt; 0 = success */
    uint64_t lost_count; /* events that will never be in the files */
};
void event_history_state(struct event_history *history, struct event_history_state *ret_state);

/* Readable when the state has changed. Only event_history_state() reads it. */
int event_history_descriptor(const struct event_history *history);

/* Writes what can be written within EVENT_HISTORY_CLOSE_NS. NULL is allowed. */
void event_history_close(struct event_history *history);

#endif
