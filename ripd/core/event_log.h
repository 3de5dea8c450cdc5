/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_log.h - from detector events to episodes: one begin and one end each, with hysteresis. Pure.
 *
 * Guarantees
 *   A. A begin is reported at once. An end is reported when the id has not stalled again for the hysteresis time, and
 *      carries the moment at which it really moved; a stall that begins before that belongs to the same episode.
 *   B. An id that is gone ends its episode at once.
 *   C. At most limit reports are given per step; what is held back is counted, and every begin that was reported has
 *      its end reported. Rings that begin more stalls than there is room for share it: none leaves another's
 *      unreported.
 */
#ifndef RIPD_CORE_EVENT_LOG_H
#define RIPD_CORE_EVENT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "core/detector.h"

enum report_kind { REPORT_BEGIN, REPORT_END };

struct report {
    enum report_kind kind;
    enum detector_event_kind reason; /* of an end: DETECTOR_MOVED, _STOPPED or _GONE */
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint64_t episode;     /* number of the episode, from 1 */
    uint64_t at_mono_ns;  /* begin: now; end: the scan that saw it move */
    uint64_t lasted_ns;   /* from the first frozen observation to at_mono_ns */
    uint32_t stall_count; /* end: stalls merged into this episode, at least 1 */
    enum id_cause cause;
    void *tag; /* what event_log_tag() attached, NULL if nothing; passed back once, at the end */
};

struct event_log;
int event_log_new(struct event_log **ret_log, uint64_t hysteresis_ns, size_t limit);
/* release is called for each tag still attached. */
void event_log_free(struct event_log *log, void (*release)(void *tag));

/* The limit of the steps from now on, at most what event_log_new() was given. */
void event_log_set_limit(struct event_log *log, size_t limit);

/* Takes a scan's events; *ret_reports is the log's, valid until the next step. Returns how many. */
int event_log_step(struct event_log *log, uint64_t now_mono_ns, const struct detector_event *events, size_t count,
                   const struct report **ret_reports);

/*
 * Attaches tag to an open episode, for its end (an id that is gone can no longer be described). -ENOENT: the id has no
 * episode whose begin was reported; -EEXIST: it has a tag. The tag stays the caller's then.
 */
int event_log_tag(struct event_log *log, uint32_t ring, uint32_t slot, uint32_t generation, void *tag);

/* Episodes that have not ended, those in their hysteresis time and those never reported included. */
uint64_t event_log_open_count(const struct event_log *log);
/* Episodes that were not reported. */
uint64_t event_log_suppressed_count(const struct event_log *log);

#endif
