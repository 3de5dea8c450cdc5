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
 *   D. At most EVENT_LOG_TOLD_MAX episodes have a begin that was reported and an end that was not. A begin beyond that
 * is counted like those beyond the limit. A ring has at most as many as it leaves free: however many stalls one ring
 *      makes, there is room for those of another.
 *   E. An episode that was open when the daemon stopped goes on under its number (event_log_adopt()): its begin is not
 *      reported again, and its end once.
 */
#ifndef RIPD_CASES_EVENT_LOG_H
#define RIPD_CASES_EVENT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "detect/detector.h"
#include "util/hash.h"

#define EVENT_LOG_TOLD_MAX 16384u

enum report_kind { REPORT_BEGIN, REPORT_END };

struct report {
    enum report_kind kind;
    enum detector_event_kind reason; /* of an end: DETECTOR_MOVED, _STOPPED, _GONE or _EXCUSED */
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint64_t episode;             /* number of the episode, from 1 */
    uint64_t at_mono_ns;          /* begin: now; end: the scan that saw it move */
    uint64_t lasted_ns;           /* from the first frozen observation to at_mono_ns */
    uint64_t progress;            /* begin: at which it stands still; 0 at an end */
    uint64_t moved_after_mono_ns; /* begin: as in struct detector_event; 0 at an end */
    uint32_t stall_count;         /* end: stalls merged into this episode, at least 1 */
    enum id_cause cause;
    void *tag; /* what event_log_tag() attached, NULL if nothing; passed back once, at the end */
};

struct event_log;
int event_log_new(struct event_log **ret_log, uint64_t hysteresis_ns, size_t limit, const struct hash_key *hash_key);
/* release is called for each tag still attached. */
void event_log_free(struct event_log *log, void (*release)(void *tag));

/* The limit of the steps from now on, at most what event_log_new() was given. */
void event_log_set_limit(struct event_log *log, size_t limit);

/* From the next step on; episodes whose time already runs are ended by the new one too. */
void event_log_set_hysteresis(struct event_log *log, uint64_t hysteresis_ns);

/* The number of the next episode, unless one as high has been used. */
void event_log_set_next(struct event_log *log, uint64_t episode);

/* An episode whose begin has been reported by an earlier run of the daemon, and whose end has not. */
struct episode_adoption {
    uint32_t ring; /* the serial of today */
    uint32_t slot;
    uint32_t generation;
    enum id_cause cause;
    uint64_t episode;        /* its number */
    uint64_t frozen_mono_ns; /* of the begin: at_mono_ns less lasted_ns */
    uint32_t stall_count;    /* 1, unless more is known */
};

/*
 * Opens it again. Numbers of later episodes are higher. -EEXIST: the id has an episode; -ENOMEM.
 *
 * How a daemon takes up its stalls, in its first scan: after registry_refresh(), which gives the rings their serials,
 * for every begin without an end whose ring is there,
 *
 *     detector_adopt(detector, adoptions, count)     the list, once, before detector_begin(): ring serial, slot,
 *                                                    generation, cause, and of the begin's report: progress,
 *                                                    moved_after_mono_ns, frozen_since = at_mono_ns - lasted_ns
 *     event_log_adopt(log, &adoption)                for each of the list, before event_log_step() of that scan
 *     event_log_tag(log, ring, slot, generation, tag)  for each, if its end needs one
 *
 * Whatever becomes of it is the detector's to find out: an id that stands where it stood is stalled on that scan, one
 * that moved or is gone has an event that ends the episode, as if the daemon had been there. Begins whose rings are
 * not there are over, gone, and the caller's to end.
 */
int event_log_adopt(struct event_log *log, const struct episode_adoption *adoption);

/* Takes a scan's events; *ret_reports is the log's, valid until the next step. Returns how many. */
int event_log_step(struct event_log *log, uint64_t now_mono_ns, const struct detector_event *events, size_t count,
                   const struct report **ret_reports);

/*
 * Attaches tag to an open episode, for its end (an id that is gone can no longer be described). -ENOENT: the id has no
 * episode whose begin was reported; -EEXIST: it has a tag. The tag stays the caller's then.
 */
int event_log_tag(struct event_log *log, uint32_t ring, uint32_t slot, uint32_t generation, void *tag);

/* The tag of an id's open episode; NULL: it has no such episode, or that has none. */
void *event_log_find_tag(const struct event_log *log, uint32_t ring, uint32_t slot, uint32_t generation);

/* Episodes that have not ended, those in their hysteresis time and those never reported included. */
uint64_t event_log_open_count(const struct event_log *log);
/* Episodes that were not reported. */
uint64_t event_log_suppressed_count(const struct event_log *log);

#endif
