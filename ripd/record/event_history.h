/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_history.h - events on disk, written by a thread of its own, and read again at the start.
 *
 * Guarantees
 *   A. Nothing here that the caller does waits for the disk, from event_history_start() on. A disk that hangs or is
 *      full costs events their place in the files, never a scan.
 *   B. Events are written in order of sequence. What could not be written is tried again; at most
 *      EVENT_HISTORY_QUEUE_MAX of them wait. Where more are lost, the next file begins with the numbers that were used
 *      and the episodes that are open: no number is used again, no begin or end published again.
 *   C. event_history_state(): up to "written" events are on disk, in the sense of fdatasync(2).
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
#define EVENT_HISTORY_CLOSE_NS UINT64_C(2000000000) /* how long closing waits for what is still to be written */

struct event_history;

/*
 * Opens the history in a directory and reads it. epoch: for a new one. On failure *ret_error (malloc'ed, or NULL for
 * want of memory) is one line.
 */
int event_history_open(struct event_history **ret_history, const char *path, uint64_t epoch, char **ret_error);

/* What was found. The events are in order of sequence; the arrays are valid until event_history_start(). */
struct event_history_found {
    uint64_t epoch;
    uint64_t sequence; /* of the last event there ever was; 0 = none */
    uint64_t episode;  /* the last number there ever was; 0 = none */
    struct event *const *events;
    size_t event_count;
    const struct event_open *open;
    size_t open_count;
    uint64_t damaged_count; /* lines that were skipped */
    bool torn;              /* the last line was incomplete, and has been cut off */
    const char *aside;      /* a file that was no history, and the name it has now; NULL = none */
};
void event_history_found(const struct event_history *history, struct event_history_found *ret_found);

/* The thread that writes. Lets go of the events that were found. */
int event_history_start(struct event_history *history);

/* In order of sequence. subject: of a begin, else NULL. */
void event_history_add(struct event_history *history, struct event *event, const struct event_subject *subject);

/* The id of an open episode moved and stalled again before the episode ended: its progress now. */
void event_history_stall_again(struct event_history *history, uint64_t episode, uint64_t progress,
                               uint64_t frozen_mono_ns, uint64_t moved_after_mono_ns);

/* Progress of the writing. */
struct event_history_state {
    uint64_t written;    /* sequence of the last event that is on disk */
    int error;           /* why the last attempt failed; 0 = it did not */
    uint64_t lost_count; /* events that will never be in the files */
};
void event_history_state(struct event_history *history, struct event_history_state *ret_state);

/* Readable when the state has changed; reading it is event_history_state()'s. */
int event_history_descriptor(const struct event_history *history);

/* Writes what can be written within EVENT_HISTORY_CLOSE_NS. NULL is allowed. */
void event_history_close(struct event_history *history);

#endif
