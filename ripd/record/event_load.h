/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_load.h - the state that results from the lines of a history: the newest events, and the open episodes. Touches
 * nothing.
 *
 * Guarantees
 *   A. Whatever the lines are, sequences ascend in the resulting state, and no episode is open twice. Lines that do not
 *      fit are counted.
 *   B. Memory is bounded by EVENT_HISTORY_KEPT_MAX events, the size of the files, and the open episodes.
 */
#ifndef RIPD_RECORD_EVENT_LOAD_H
#define RIPD_RECORD_EVENT_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "record/event_line.h"

#define EVENT_HISTORY_KEPT_MAX 10000u /* newest events that are kept while loading */

/*
 * The open episodes, ordered by number. An episode that has ended stays until its end is on disk, because files written
 * in the meantime still count it as open.
 */
struct event_open {
    struct event *begin; /* owned reference */
    struct event_subject subject;
    uint64_t end_sequence; /* of its end event; 0 = it has not ended */
};

/* All zero = empty. */
struct event_open_set {
    struct event_open *episodes;
    size_t count;
    size_t capacity;
};

void event_open_done(struct event_open_set *set);

/* Returns NULL if there is no such episode. Valid until the set changes. */
struct event_open *event_open_find(struct event_open_set *set, uint64_t episode);

/* Takes its own reference. Does nothing if the episode is there. Returns 0 or -ENOMEM. */
int event_open_add(struct event_open_set *set, struct event *begin, const struct event_subject *subject);

/* Does nothing if it is not there. */
void event_open_remove(struct event_open_set *set, uint64_t episode);

/* Removes all episodes whose end has a sequence up to this one. */
void event_open_forget(struct event_open_set *set, uint64_t sequence);

/*
 * Makes a line for each episode that was open when this was the last event, with its own reference. The first line is
 * left for the caller to fill in. The caller frees the array. Returns 0 or -ENOMEM.
 */
int event_open_lines(const struct event_open_set *set, uint64_t sequence, struct event_line **ret_lines,
                     size_t *ret_count);

/* All zero = nothing read yet. */
struct event_load {
    uint64_t epoch; /* 0 = none found */
    uint64_t sequence;
    uint64_t episode;
    struct event **events; /* owned references, ordered by sequence */
    size_t event_count;
    size_t capacity;
    struct event_open_set open;
    uint64_t line_count;
    uint64_t damaged_count;
};

void event_load_done(struct event_load *load);
void event_load_forget_events(struct event_load *load);

/* A callback of event_file_read(): adds a line without its end; load is a struct event_load. Returns 0 or -ENOMEM. */
int event_load_line(void *load, const char *text, size_t length);

#endif
