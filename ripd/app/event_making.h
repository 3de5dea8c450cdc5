/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_making.h - events from reports. A begin tells who it is and where it stands; an end is made from its begin, so
 * that it can be told when the id is long gone.
 *
 * Each returns a new event, or NULL: no memory.
 */
#ifndef RIPD_APP_EVENT_MAKING_H
#define RIPD_APP_EVENT_MAKING_H

#include "app/events.h"
#include "app/restart.h"
#include "cases/event_log.h"

struct event *event_make_begin(const struct events_scan *scan, const struct report *report, uint64_t sequence,
                               uint64_t episode);

struct event *event_make_end(const struct events_scan *scan, const struct report *report, const struct event *begin,
                             uint64_t sequence);

/*
 * The end of an episode of which restart_settle() found that it is over: it came while nobody watched. It lasted for at
 * least as long as the begin tells, and for no longer than until now: where now is on the same clock (boot_id), this is
 * the other end.
 */
struct event *event_make_end_unseen(const struct events_scan *scan, const struct restart_episode *episode,
                                    const uint8_t boot_id[EVENT_SUBJECT_ID_BYTES], uint64_t sequence);

#endif
