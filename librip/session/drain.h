/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drain.h - one ring, read again and again: what its ids did between two drains, as events. Pure on bytes: no clock, no
 * file. Time is an argument, and so are the samples, so that ripd records just what its detector saw.
 *
 * A drain of a ring is: drain_begin(); drain_read() and drain_take() for each batch of samples, in order of slot;
 * drain_end(). Only drain_begin(), drain_read() and drain_finish() read the ring: under the caller's guard against
 * SIGBUS. They allocate nothing; the others read nothing of the ring.
 *
 * Guarantees
 *   A. For each id whose slot was not reused between two drains: made = entries + overwritten. Over all, from the
 *      ring's own counts: made = recorded + overwritten + unseen, exactly, where TOTALS say so.
 *   B. No entry is yielded twice, and none that is later than the sample's progress: it comes with the next drain.
 *   C. The last entries of an id that has ended come with its EXIT, as long as its slot is not claimed again.
 *   D. Memory is bounded by ids live at one time: DRAIN_ID_BYTES each.
 *   E. A ring in which nothing has changed yields nothing.
 */
#ifndef RIP_SESSION_DRAIN_H
#define RIP_SESSION_DRAIN_H

#include "rip/reader.h"
#include "session/sink.h"

#define DRAIN_BATCH 128u
#define DRAIN_ID_BYTES 64u

struct drain_moment {
    uint64_t wall_ns;
    uint64_t mono_ns;
};

struct drain;

int drain_new(struct drain **ret_drain, uint32_t ring);
void drain_free(struct drain *drain);

/* What was read of a batch: the samples, and of ids that have moved or changed what is new. Large: not on a stack. */
struct drain_batch;
struct drain_batch *drain_batch_new(void); /* NULL: no memory */
void drain_batch_free(struct drain_batch *batch);

/* Header, processes, modules. The view may be another mapping of the same ring. */
void drain_begin(struct drain *drain, const struct rip_view *view, struct drain_moment moment);

/* At most DRAIN_BATCH samples, as rip_view_scan() returned them: within this scan above all that were read before. */
void drain_read(const struct drain *drain, const struct rip_view *view, const struct rip_sample *samples, size_t count,
                struct drain_batch *ret_batch);
int drain_take(struct drain *drain, const struct drain_batch *batch, const struct rip_sink *sink);

/* After the last batch: ids that have ended. drain_finish() reads at most DRAIN_BATCH of them, false: there are no
 * more; each time drain_take() must follow. */
bool drain_finish(struct drain *drain, const struct rip_view *view, struct drain_batch *ret_batch);

/* The drain is complete: EXIT of ids of which nothing is left, FLUSH, TOTALS. */
int drain_end(struct drain *drain, const struct rip_sink *sink);

/* All that is known of the ring, as if it were found now: RING to REGISTER, for the begin of a segment. ring is what
 * only the caller knows of it. */
int drain_repeat(const struct drain *drain, const struct rip_event_ring *ring, const struct rip_sink *sink);

#endif
