/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_load.h - what the lines of a history come to: the newest events, and the episodes that are open. Touches
 * nothing.
 *
 * Guarantees
 *   A. Any lines give a state in which sequences ascend and no episode is open twice; what does not fit is counted.
 *   B. Memory is bounded by EVENT_HISTORY_KEPT_MAX events, the size of the files, and the open episodes.
 */
#ifndef RIPD_RECORD_EVENT_LOAD_H
#define RIPD_RECORD_EVENT_LOAD_H

#include <stddef.h>
#include <stdint.h>

#include "record/event_line.h"

#define EVENT_HISTORY_KEPT_MAX 10000u /* newest events that loading gives */

/*
 * The episodes that have begun and not ended, in order of their numbers. One that has ended stays until its end is on
 * disk: what is written in the meantime still counts it as open.
 */
struct event_open {
    struct event *begin; /* a reference */
    struct event_subject subject;
    uint64_t end_sequence; /* of its end; 0 = it has not ended */
};

/* All zero = empty. */
struct event_open_set {
    struct event_open *episodes;
    size_t count;
    size_t capacity;
};

void event_open_done(struct event_open_set *set);

/* NULL: there is none of that number. Valid until the set changes. */
struct event_open *event_open_find(struct event_open_set *set, uint64_t episode);

/* Takes a reference of its own. Without effect if it is there. 0 or -ENOMEM. */
int event_open_add(struct event_open_set *set, struct event *begin, const struct event_subject *subject);

/* Without effect if it is not there. */
void event_open_remove(struct event_open_set *set, uint64_t episode);

/* Removes all whose end has a sequence up to this one. */
void event_open_forget(struct event_open_set *set, uint64_t sequence);

/*
 * A line for each that was open when this was the last event, with references of their own; the first is left for the
 * caller to fill in. The array is his. 0 or -ENOMEM.
 */
int event_open_lines(const struct event_open_set *set, uint64_t sequence, struct event_line **ret_lines,
                     size_t *ret_count);

/* All zero = nothing read yet. */
struct event_load {
    uint64_t epoch; /* 0 = none found */
    uint64_t sequence;
    uint64_t episode;
    struct event **events; /* references, in order of sequence */
    size_t event_count;
    size_t capacity;
    struct event_open_set open;
    uint64_t line_count;
    uint64_t damaged_count;
};

void event_load_done(struct event_load *load);
void event_load_forget_events(struct event_load *load);

/* Takes a line in, without its end, as event_file_read() visits it; load: the struct event_load. 0 or -ENOMEM. */
int event_load_line(void *load, const char *text, size_t length);

#endif
