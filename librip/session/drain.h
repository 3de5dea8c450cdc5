/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h - reads one ring repeatedly, and yields what its ids did between two drains as events. Pure on bytes: no
 * clock, no file. Time and samples are arguments, so that ripd records exactly the samples that its detector saw.
 *
 * A drain of a ring:
 *
 *     drain_begin(drain, moment);
 *     while (drain_open(drain, view, batch))      processes and modules
 *         drain_take(drain, batch, sink);
 *     for each batch of samples that rip_view_scan() returned:
 *         drain_read(drain, view, samples, count, batch);
 *         drain_take(drain, batch, sink);
 *     while (drain_finish(drain, view, batch))    ids that have ended
 *         drain_take(drain, batch, sink);
 *     drain_end(drain, sink);
 *
 * Only functions with a view argument read the ring; the caller guards them against SIGBUS. They allocate nothing. The
 * view may change from drain to drain: it may be another mapping or a copy of the same ring.
 *
 * Guarantees
 *   A. For each id whose slot was not reused between two drains: made = entries + overwritten. For the whole ring, by
 *      the ring's own counts: made = recorded + overwritten + unseen. This is exact if TOTALS is marked exact.
 *   B. No entry is yielded twice. An entry newer than the sample's progress is yielded by the next drain.
 *   C. The last entries of an id that has ended are yielded with its EXIT, unless its slot was claimed again.
 *   D. Memory is bounded by the number of ids that are live at one time: DRAIN_ID_BYTES each.
 *   E. A ring in which nothing has changed yields nothing.
 *   F. After drain_end() the ids with a REGISTER and no EXIT are exactly those that were sampled or were being changed.
 */
#ifndef RIP_SESSION_DRAIN_H
#define RIP_SESSION_DRAIN_H

#include "rip/reader.h"
#include "session/sink.h"

#define DRAIN_BATCH 128u
#define DRAIN_ID_BYTES 128u /* 64, and the same again while an array grows */

struct drain_moment {
    uint64_t wall_ns;
    uint64_t mono_ns;
};

struct drain;

int drain_new(struct drain **ret_drain, uint32_t ring);
void drain_free(struct drain *drain);

/*
 * States that the ring was created after this moment. To be called before the first drain. The first drain then yields
 * the ids as new and not as found, and TOTALS count from the creation of the ring.
 */
void drain_made_after(struct drain *drain, struct drain_moment moment);

/*
 * The first drain also yields ids that ended before it, if they are still in the ring's log of ended ids. To be called
 * before the first drain.
 */
void drain_find_ended(struct drain *drain);

/* Holds what one reading call has found until drain_take() yields it. Too large for a stack. */
struct drain_batch;
struct drain_batch *drain_batch_new(void); /* Returns NULL if out of memory. */
void drain_batch_free(struct drain_batch *batch);

/* Events of this drain happened after the moment of the previous drain, and at or before this moment. */
void drain_begin(struct drain *drain, struct drain_moment moment);

/* Reads the header, and new processes, modules and script functions. Returns false if there are no more. */
bool drain_open(struct drain *drain, const struct rip_view *view, struct drain_batch *ret_batch);

/* Reads the ids of at most DRAIN_BATCH samples. Slots must ascend within a drain. */
void drain_read(struct drain *drain, const struct rip_view *view, const struct rip_sample *samples, size_t count,
                struct drain_batch *ret_batch);

/* Reads known ids that were not sampled, and ids in the ring's log of ended ids. Returns false if there are no more. */
bool drain_finish(struct drain *drain, const struct rip_view *view, struct drain_batch *ret_batch);

/*
 * Does the next of the above steps. The view must be a copy, which neither changes nor faults. Returns 1 if a batch was
 * taken, 0 if there are no more and drain_end() is due, or the error of drain_take().
 */
int drain_step(struct drain *drain, const struct rip_view *view, struct drain_batch *batch,
               const struct rip_sink *sink);

/*
 * Yields the events of a batch. Returns 0, the first error of the sink, or -ENOMEM if an id could not be stored. The
 * drain can be continued after an error.
 */
int drain_take(struct drain *drain, const struct drain_batch *batch, const struct rip_sink *sink);

/* Ends the drain: yields FLUSH and TOTALS if they have changed. Returns as drain_take(). */
int drain_end(struct drain *drain, const struct rip_sink *sink);

#endif
