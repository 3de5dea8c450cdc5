/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - what is remembered of suspects from one pass to the next: when they were first looked at, what was seen
 * then and last, and the facts that were made of it.
 *
 * Guarantees
 *   A. A suspect that is not named in a pass is forgotten with it, and so is one that has moved since.
 *   B. At most WATCHES_MAX are remembered.
 *   C. What is known of a lock is of one wait: once a look says that the thread has run, nothing that was seen before
 *      counts, though it may wait for the same lock again.
 */
#ifndef RIPD_PROBE_WATCH_H
#define RIPD_PROBE_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "cases/cause.h"
#include "cases/kernel.h"
#include "detect/detector.h"
#include "probe/kernel.h"

#define WATCHES_MAX 65536u
#define WATCH_NONE UINT32_MAX

struct watch {
    uint32_t ring;
    uint32_t slot;
    uint32_t generation;
    uint32_t tid;
    uint64_t progress;
    struct kernel_times first;
    struct kernel_times last;
    uint64_t decoded_mono_ns;   /* when it was last asked what it waits for; 0 = never, or not all was told */
    enum evidence_wait wait;    /* as of then */
    struct kernel_facts *facts; /* a reference; NULL = none yet */
    struct lock_wait lock;      /* owner.address 0 = it waits for none that is known */
    bool doubted;               /* what it waits for is to be asked anew: see watches_doubt() */
    bool named;                 /* in this pass */
};

struct watches {
    struct watch *items; /* [0, sorted_count) in order of ring and slot; behind them those of this pass */
    size_t count;
    size_t sorted_count;
    size_t capacity;
    size_t live_count;    /* that suspects of this pass have */
    uint32_t *by_suspect; /* of this pass: index of its watch, or WATCH_NONE */
    size_t suspect_capacity;
};

void watches_done(struct watches *watches);

/* Begins a pass over suspects in order of ring and slot. 0 or -ENOMEM: nothing is remembered. */
int watches_begin(struct watches *watches, const struct detector_suspect *suspects, size_t count);

/* The watch of a suspect, by its index; made if there is none. NULL: no memory, or too many. */
struct watch *watches_take(struct watches *watches, const struct detector_suspect *suspects, size_t index);

/*
 * Who owns the lock that it waits for, as a reading has it; before watch->last becomes that of the reading, which may
 * be the older one: answers come late. whole: it was asked what it waits for.
 */
void watch_lock(struct watch *watch, const struct kernel_reading *reading, bool whole);

/* Takes back what was remembered and found out of a suspect. */
void watches_drop(struct watches *watches, size_t index);

/* The watch of a suspect if there is one, else NULL. */
const struct watch *watches_known(const struct watches *watches, size_t index);

/* Ends the pass: what was not named is forgotten, each suspect's kernel and lock point at what is known, until the next
 * one begins. */
void watches_end(struct watches *watches, struct detector_suspect *suspects, size_t count);

/* Has an id asked anew in the next pass. False: it is not watched. */
bool watches_doubt(struct watches *watches, uint32_t ring, uint32_t slot, uint32_t generation);

/* The facts of an id; NULL: none. Not a new reference. */
struct kernel_facts *watches_find(const struct watches *watches, uint32_t ring, uint32_t slot, uint32_t generation);

#endif
