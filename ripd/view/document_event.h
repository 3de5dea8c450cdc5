/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_event.h - an event as JSON, on one line. Pure.
 *
 * Guarantees
 *   A. Every field is there in every event; what is not known, or does not belong to its kind, is null. Only KEY_hex
 *      comes and goes.
 *   B. What an end says of its id (from "ring" on) is word for word what the begin said: who it was, and where it
 *      stood. So an end can be published when the id is long gone, and when another run of the daemon published the
 *      begin.
 *   C. Names of functions and files, which are of any length, make no text of more than EVENT_NAMED_BYTES_MAX: there
 *      they are null. It is kept in memory as long as the stall lasts, written and sent to many.
 *   D. The text holds no line break, no control character and no absolute address.
 */
#ifndef RIPD_VIEW_DOCUMENT_EVENT_H
#define RIPD_VIEW_DOCUMENT_EVENT_H

#include "cases/event.h"
#include "cases/snapshot.h"

#define EVENT_NAMED_BYTES_MAX 16384u

/*
 * Gives a begin its text, from its other fields and the id as it was seen. sighting->item may be NULL: it could not be
 * read whose stall it is. If seen is not NULL, another begin of that standstill, the sighting is only asked for the
 * verdict and its times, and the rest is as that event has it. 0 or -ENOMEM.
 */
int document_event_begin(struct event *event, const struct sighting *sighting, const struct event *seen);

/* Gives an end its text, from its other fields and its begin. 0 or -ENOMEM. */
int document_event_end(struct event *event, const struct event *begin);

#endif
