/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.h - episodes that were open when ripd ended, and what has become of them.
 *
 * There is one rule. An id has been stalled all the time if nothing has changed: same boot, same ring, slot and
 * generation, same progress. This holds because progress only grows. Any other episode is over.
 *
 * On the first scan: restart_prepare() between registry_refresh() and detector_begin(), restart_settle() after
 * detector_end(). Then restart_next() returns the episodes that are over, on that scan and on later ones, because there
 * may be many.
 */
#ifndef RIPD_APP_RESTART_H
#define RIPD_APP_RESTART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"
#include "detect/detector.h"
#include "record/event_load.h"
#include "ring/registry.h"
#include "work/work.h"

/* Fills in what identifies the id after a restart. ring is NULL if it is not known. */
void restart_identify(const struct registry *registry, const struct ring *ring, const uint8_t boot_id[16],
                      struct event_subject *subject);

struct restart_episode {
    struct event *begin; /* owned reference */
    struct event_subject subject;
    bool asked;               /* handed to the detector */
    uint32_t ring;            /* serial, if handed to the detector */
    uint32_t user;            /* the account that the ring is charged to */
    enum event_reason reason; /* if it is over; UNWATCHED: see event_kind.h */
};

/* All zero = nothing to do. */
struct restart {
    struct restart_episode *episodes;
    size_t count;
    size_t reported_count; /* already returned by restart_next() */
    bool settled;          /* only episodes that are over remain */
};

/* Copies the open episodes. Returns 0 or -ENOMEM. */
int restart_init(struct restart *restart, const struct event_open *open, size_t count);
void restart_done(struct restart *restart);

/*
 * Finds the ring of each episode, and hands those that have one to the detector, for the scan at now_mono_ns. Returns
 * 0, or -errno of detector_adopt(): then all of them are unwatched.
 */
int restart_prepare(struct restart *restart, struct registry *registry, const uint8_t boot_id[16],
                    const struct work *work, struct detector *detector, uint64_t now_mono_ns);

/*
 * Finds the episodes that are still open, and removes them. Calls go_on for each, in no particular order; go_on must
 * take its own reference to keep the begin. If it returns false, the episode is over: unwatched. Returns how many are
 * open.
 */
size_t restart_settle(struct restart *restart, const struct detector *detector,
                      bool (*go_on)(void *context, const struct restart_episode *episode), void *context);

/* Returns the query to the detector for an episode that has a ring. */
struct detector_adoption restart_adoption(const struct restart_episode *episode);

/*
 * Returns the next episode that is over, in order of episode number. Returns NULL if there are no more, and frees the
 * memory. Valid until the next call.
 */
const struct restart_episode *restart_next(struct restart *restart);

#endif
