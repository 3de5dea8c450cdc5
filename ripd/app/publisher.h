/* SPDX-License-Identifier: Apache-2.0 */
/*
 * publisher.h - publishes events: writes each to disk first, then announces it.
 *
 * Guarantees
 *   A. Events are announced in order of sequence, each once.
 *   B. With a state directory an event is announced when it is on disk, so that ripd forgets nothing that it has
 *      announced, whatever kills it. A disk that fails, or takes longer than PUBLISHER_PATIENCE_NS, delays no event
 *      further: ripd announces it before it is on disk, counts and logs that, and writes it as soon as the disk takes
 *      it. If ripd ends before that, its next run may use the event's number again.
 *   C. No call waits for the disk but publisher_stop(), for two seconds at most.
 *
 * Of the scanner's thread.
 */
#ifndef RIPD_APP_PUBLISHER_H
#define RIPD_APP_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "cases/event.h"
#include "cases/health.h"
#include "record/event_history.h"

#define PUBLISHER_PATIENCE_NS UINT64_C(2000000000)

struct publisher_options {
    const char *state_directory; /* NULL = none */
    /* Hands the event to its readers. The reference stays the caller's: take another to keep the event. */
    void (*announce)(void *context, struct event *event);
    void *context;
    struct health *health; /* events that are announced before they are on disk, if they ever are, are counted there */
};

struct publisher;

/* Failure to have the state directory is logged: 0 or -errno. */
int publisher_new(struct publisher **ret_publisher, const struct publisher_options *options);
void publisher_free(struct publisher *publisher); /* NULL is allowed */

/* What the state directory held; valid until publisher_start(). Without one all is zero but the epoch. */
void publisher_found(const struct publisher *publisher, struct event_history_found *ret_found);

/* From here on events are taken. 0 or -errno. */
int publisher_start(struct publisher *publisher);

/* Whether there is a state directory. */
bool publisher_is_kept(const struct publisher *publisher);

/* Takes over the event's reference. subject: of a begin, else NULL. */
void publisher_add(struct publisher *publisher, struct event *event, const struct event_subject *subject,
                   uint64_t now_mono_ns);

void publisher_stall_again(struct publisher *publisher, uint64_t episode, uint64_t progress, uint64_t frozen_mono_ns,
                           uint64_t moved_after_mono_ns);

/* Announces what has got to disk, or has waited long enough. */
void publisher_step(struct publisher *publisher, uint64_t now_mono_ns);

/* publisher_step() is due when it is readable, or after this time (UINT64_MAX: never). -1: never readable. */
int publisher_descriptor(const struct publisher *publisher);
uint64_t publisher_wait_ns(const struct publisher *publisher, uint64_t now_mono_ns);

/* Writes the events still queued, within two seconds, and announces them. */
void publisher_stop(struct publisher *publisher);

#endif
