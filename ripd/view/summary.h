/* SPDX-License-Identifier: Apache-2.0 */
/*
 * summary.h - one sentence for people about an id: who it is, what it does, for how long, where, and what it waits for.
 * Pure.
 *
 * Guarantees
 *   A. A sentence says nothing that is not in the fields of its item or event; what is not known is left out.
 *   B. It is terminated and at most SUMMARY_BYTES - 1 long. Long parts are cut, with "..." behind them, between
 *      characters of UTF-8. Names are bytes of any kind.
 */
#ifndef RIPD_VIEW_SUMMARY_H
#define RIPD_VIEW_SUMMARY_H

#include "cases/event.h"
#include "cases/snapshot.h"

#define SUMMARY_BYTES 2048u

void summary_of_id(const struct sighting *sighting, char ret_text[SUMMARY_BYTES]);

/* The part of it that says what it does, and for how long: " has been blocked for 13.8 s". */
void summary_of_deed(const struct sighting *sighting, char ret_text[SUMMARY_BYTES]);

/* Of the end of an episode. */
void summary_of_end(const struct event *event, char ret_text[SUMMARY_BYTES]);

#endif
