/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h - one ring, read again and again: what its ids did between two drains, as events. Pure on bytes: no clock, no
 * file. Time is an argument, and so are the samples, so that ripd records just what its detector saw.
 *
 * A drain of a ring:
 *
 *     drain_begin(drain, moment);
 *     while (drain_open(drain, view, batch))      processes and modules
 *         drain_take(drain, batch, sink);
 *     for each batch of samples, as rip_view_scan() returned them:
 *         drain_read(drain, view, samples, count, batch);
 *         drain_take(drain, batch, sink);
 *     while (drain_finish(drain, view, batch))    ids that have ended
 *         drain_take(drain, batch, sink);
 *     drain_end(drain, sink);
 *
 * Only those with a view read the ring: under the caller's guard against SIGBUS. They allocate nothing; the others read
 * nothing of the ring. The view may be another mapping of the same ring, or a copy of it.
 *
 * Guarantees
 *   A. For each id whose slot was not reused between two drains: made = entries + overwritten. Over all, from the
 *      ring's own counts: made = recorded + overwritten + unseen, exactly, where TOTALS say so.
 *   B. No entry is yielded twice, and none that is later than the sample's progress: it comes with the next drain.
 *   C. The last entries of an id that has ended come with its EXIT, as long as its slot is not claimed again.
 *   D. Memory is bounded by the ids that are live at one time: DRAIN_ID_BYTES each.
 *   E. A ring in which nothing has changed yields nothing.
 *   F. After drain_end() those have been registered and have not ended that were sampled, or were being changed.
 */
#ifndef RIP_SESSION_DRAIN_H
#define RIP_SESSION_DRAIN_H

#include "rip/reader.h"
#include "session/sink.h"

#define DRAIN_BATCH 128u
#define DRAIN_ID_BYTES 128u /* 64, and as much again while arrays grow */

struct drain_moment {
    uint64_t wall_ns;
    uint64_t mono_ns;
};

struct drain;

int drain_new(struct drain **ret_drain, uint32_t ring);
void drain_free(struct drain *drain);

/* Before the first drain: the ring was made after this moment. Its ids are not found there, but come, and TOTALS are of
 * all that was ever made. */
void drain_made_after(struct drain *drain, struct drain_moment moment);

/* Before the first drain: ids that ended before it are found there, too, as far as the ring still has them. */
void drain_find_ended(struct drain *drain);

/* What was read, to be taken. Large: not on a stack. */
struct drain_batch;
struct drain_batch *drain_batch_new(void); /* NULL: no memory */
void drain_batch_free(struct drain_batch *batch);

/* Entries that are found happened after the moment of the drain before, and at latest now. */
void drain_begin(struct drain *drain, struct drain_moment moment);

/* The ring's header, and processes and modules that are new. False: there are no more. */
bool drain_open(struct drain *drain, const struct rip_view *view, struct drain_batch *ret_batch);

/* At most DRAIN_BATCH samples, within this drain above all that were read before. */
void drain_read(struct drain *drain, const struct rip_view *view, const struct rip_sample *samples, size_t count,
                struct drain_batch *ret_batch);

/* Ids that were not sampled, and those that the ring has counted as ended. False: there are no more. */
bool drain_finish(struct drain *drain, const struct rip_view *view, struct drain_batch *ret_batch);

/*
 * All of the above for a view that is a copy: nothing in it changes, and reading it cannot fault. 1: the next batch was
 * taken; 0: there was none, and drain_end() comes; or what drain_take() returned.
 */
int drain_step(struct drain *drain, const struct rip_view *view, struct drain_batch *batch,
               const struct rip_sink *sink);

/* What a sink returned, or -ENOMEM: some of it is not known; the drain goes on as if it were. */
int drain_take(struct drain *drain, const struct drain_batch *batch, const struct rip_sink *sink);

/* The drain is complete: FLUSH, TOTALS. */
int drain_end(struct drain *drain, const struct rip_sink *sink);

#endif
