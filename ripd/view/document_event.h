/* SPDX-License-Identifier: Apache-2.0 */
/*
 * document_event.h - an event as JSON, on one line. Pure.
 *
 * Guarantees
 *   A. Every event has every field. A value that is not known, or does not belong to its kind, is null. Only KEY_hex is
 *      optional.
 *   B. An end repeats the begin's fields of the id (from "ring" on) word for word. So an end can be published when the
 *      id is long gone, and when another run of the daemon published the begin.
 *   C. Names of functions and files can have any length. If they would make the text longer than EVENT_NAMED_BYTES_MAX,
 *      they are null: the text is kept in memory while the stall lasts, written, and sent to many clients.
 *   D. The text has no line break, no control character and no absolute address.
 */
#ifndef RIPD_VIEW_DOCUMENT_EVENT_H
#define RIPD_VIEW_DOCUMENT_EVENT_H

#include "cases/event.h"
#include "cases/snapshot.h"

#define EVENT_NAMED_BYTES_MAX 16384u

/*
 * Makes the text of a begin from its other fields and from the id as it was seen. sighting->item may be NULL if the id
 * could not be read. If seen is not NULL, it is another begin of the same standstill: only the verdict and its times
 * come from the sighting, and the rest from that event. Returns 0 or -ENOMEM.
 */
int document_event_begin(struct event *event, const struct sighting *sighting, const struct event *seen);

/* Makes the text of an end from its other fields and its begin. Returns 0 or -ENOMEM. */
int document_event_end(struct event *event, const struct event *begin);

#endif
