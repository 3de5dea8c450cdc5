/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chronicle.h - publishes events: writes each to disk first, then announces it.
 *
 * Guarantees
 *   A. Events are announced in order of sequence, each once.
 *   B. With a state directory an event is announced when it is on disk, so that ripd forgets nothing that it has
 *      announced, whatever kills it. A disk that fails, or takes longer than CHRONICLE_PATIENCE_NS, delays no event
 *      further: ripd announces it before it is on disk, counts and logs that, and writes it as soon as the disk takes
 *      it. If ripd ends before that, its next run may use the event's number again.
 *   C. No call waits for the disk but chronicle_stop(), for two seconds at most.
 *
 * Of the scanner's thread.
 */
#ifndef RIPD_APP_CHRONICLE_H
#define RIPD_APP_CHRONICLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cases/event.h"
#include "record/event_history.h"

#define CHRONICLE_PATIENCE_NS UINT64_C(2000000000)

struct chronicle_options {
    const char *state_directory; /* NULL = none */
    /* Hands the event to its readers. The reference stays the caller's: take another to keep the event. */
    void (*announce)(void *context, struct event *event);
    void *context;
};

struct chronicle;

/* Failure to have the state directory is logged: 0 or -errno. */
int chronicle_new(struct chronicle **ret_chronicle, const struct chronicle_options *options);
void chronicle_free(struct chronicle *chronicle); /* NULL is allowed */

uint64_t chronicle_epoch(const struct chronicle *chronicle);

/* What the state directory held; valid until chronicle_start(). Without one all is zero but the epoch. */
void chronicle_found(const struct chronicle *chronicle, struct event_history_found *ret_found);

/* From here on events are taken. 0 or -errno. */
int chronicle_start(struct chronicle *chronicle);

/* Whether there is a state directory. */
bool chronicle_is_kept(const struct chronicle *chronicle);

/* Takes over the event's reference. subject: of a begin, else NULL. */
void chronicle_add(struct chronicle *chronicle, struct event *event, const struct event_subject *subject,
                   uint64_t now_mono_ns);

void chronicle_stall_again(struct chronicle *chronicle, uint64_t episode, uint64_t progress, uint64_t frozen_mono_ns,
                           uint64_t moved_after_mono_ns);

/* Announces what has got to disk, or has waited long enough. */
void chronicle_step(struct chronicle *chronicle, uint64_t now_mono_ns);

/* chronicle_step() is due when it is readable, or after this time (UINT64_MAX: never). -1: never readable. */
int chronicle_descriptor(const struct chronicle *chronicle);
uint64_t chronicle_wait_ns(const struct chronicle *chronicle, uint64_t now_mono_ns);

/* Writes the events still queued, within two seconds, and announces them. */
void chronicle_stop(struct chronicle *chronicle);

/* Events that were announced before they were on disk, if they ever are. */
uint64_t chronicle_error_count(const struct chronicle *chronicle);

#endif
