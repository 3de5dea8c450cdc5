/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restart.h - episodes that were open when ripd ended, and what has become of them.
 *
 * The rule is one: an id that stands where it stood (same run of the system, same ring, slot and generation, same
 * progress) has been stalled all the time, since progress only grows; any other episode is over.
 *
 * On the first scan: restart_prepare() between registry_refresh() and detector_begin(), restart_settle() after
 * detector_end(). Then restart_next() gives those that are over, on that scan and on later ones: they may be many.
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

/* Whose stall it is, for knowing it again. ring: its ring, NULL = not known. */
void restart_identify(const struct registry *registry, const struct ring *ring, const uint8_t boot_id[16],
                      struct event_subject *subject);

struct restart_episode {
    struct event *begin; /* a reference */
    struct event_subject subject;
    bool asked;               /* the detector has it */
    uint32_t ring;            /* serial, where the detector has it */
    uint32_t user;            /* the account that ring is on */
    enum event_reason reason; /* if it is over; UNWATCHED: its ring may be there, but is not read */
};

/* All zero = nothing to do. */
struct restart {
    struct restart_episode *episodes;
    size_t count;
    size_t reported_count; /* the first of them: restart_next() has returned these */
    bool settled;          /* all that are left are over */
};

/* Copies what was open. 0 or -ENOMEM. */
int restart_init(struct restart *restart, const struct event_open *open, size_t count);
void restart_done(struct restart *restart);

/*
 * Finds the ring of each episode, and gives the detector those that have one, for the scan at now_mono_ns. 0 or -errno
 * of detector_adopt(): then they are unwatched.
 */
int restart_prepare(struct restart *restart, struct registry *registry, const uint8_t boot_id[16],
                    const struct work *work, struct detector *detector, uint64_t now_mono_ns);

/*
 * Finds out which of them go on, and takes these out: go_on is called for each, in no order, and gets a reference of
 * its own to the begin if it takes one. Returns how many.
 */
size_t restart_settle(struct restart *restart, const struct detector *detector,
                      void (*go_on)(void *context, const struct restart_episode *episode), void *context);

/* What the detector is asked about one that has a ring. */
struct detector_adoption restart_adoption(const struct restart_episode *episode);

/* One that is over and has not been given yet, in order of episode; NULL: there are no more, and the memory is freed.
   Valid until the next call. */
const struct restart_episode *restart_next(struct restart *restart);

#endif
