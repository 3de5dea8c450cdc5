/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - one sentence about an id for people: its identity, state, duration, location, and what it waits for.
 * Pure.
 *
 * Guarantees
 *   A. A sentence has no fact that is not in the fields of its item or event; a value that is not known is left out.
 *   B. The text is terminated and at most SUMMARY_BYTES - 1 long. Long parts are cut between UTF-8 characters and end
 *      in "...". Names may be any bytes.
 */
#ifndef RIPD_VIEW_SUMMARY_H
#define RIPD_VIEW_SUMMARY_H

#include "cases/event.h"
#include "cases/snapshot.h"

#define SUMMARY_BYTES 2048u

void summary_of_id(const struct sighting *sighting, char ret_text[SUMMARY_BYTES]);

/* Writes the state and its duration: " has been blocked for 13.8 s". */
void summary_of_state(const struct sighting *sighting, char ret_text[SUMMARY_BYTES]);

/* Writes the sentence for the end of an episode. */
void summary_of_end(const struct event *event, char ret_text[SUMMARY_BYTES]);

#endif
