/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_open.h - the episodes that have begun and not ended, in order of their numbers. Values; touches nothing.
 *
 * An episode that has ended stays until its end is on disk: what is written in the meantime still counts it as open.
 */
#ifndef RIPD_RECORD_EVENT_OPEN_H
#define RIPD_RECORD_EVENT_OPEN_H

#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"
#include "record/event_subject.h"

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

/* Takes a reference of its own. -EEXIST, -ENOMEM. */
int event_open_add(struct event_open_set *set, struct event *begin, const struct event_subject *subject);

/* Without effect if it is not there. */
void event_open_remove(struct event_open_set *set, uint64_t episode);

/* Removes all whose end has a sequence up to this one. */
void event_open_forget(struct event_open_set *set, uint64_t sequence);

/* Those that were open when this was the last event, with references of its own. -ENOMEM. */
int event_open_copy(const struct event_open_set *set, uint64_t sequence, struct event_open_set *ret_copy);

#endif
