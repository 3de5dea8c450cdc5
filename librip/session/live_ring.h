/* SPDX-License-Identifier: Apache-2.0 */
/* live_ring.h - one ring file, drained again and again, and who lives in it. Touches its descriptor and /proc. */
#ifndef RIP_SESSION_LIVE_RING_H
#define RIP_SESSION_LIVE_RING_H

#include <sys/types.h>

#include "session/drain.h"

struct live_ring;

struct drain_moment live_moment(void); /* now */

/* Where a ring is. */
struct live_place {
    const char *directory;
    const char *name;
    int descriptor;            /* taken over, whatever is returned */
    struct drain_moment since; /* of the drain before it was seen, or of the begin of the session */
    bool was_drained;          /* since is of a drain */
    bool finds_ended;          /* drain_find_ended() */
};

/* 0, -EINVAL: no ring, ... as ring_copy_open(); *ret_reason is a static phrase. */
int live_ring_open(struct live_ring **ret_ring, const struct live_place *place, uint32_t number,
                   const char **ret_reason);
void live_ring_free(struct live_ring *ring);
bool live_ring_is(const struct live_ring *ring, dev_t device, ino_t inode);

/* One drain: copies the ring, and then yields events a batch at a time. 1: there is more; 0: that was all; -ENOMEM, or
 * what the sink returned. */
void live_ring_begin(struct live_ring *ring, struct drain_moment moment);
int live_ring_step(struct live_ring *ring, struct drain_batch *batch, const struct rip_sink *sink);

/* As of the last drain. No process lives in it, and all that they did was yielded. */
bool live_ring_has_ended(const struct live_ring *ring);
/* ... and its file is gone; or it cannot be read any more. RING_END was yielded. */
bool live_ring_is_gone(const struct live_ring *ring);
/* Why it cannot be read any more; NULL: it can. */
const char *live_ring_reason(const struct live_ring *ring);

/* All that is there, as if found then. */
int live_ring_repeat(const struct live_ring *ring, struct drain_batch *batch, const struct rip_sink *sink);

/* The word that rip_flush() counts in, for a futex: it may be waited for, but not read. NULL: none.
 * *ret_seen: what it was on the last drain. */
const uint32_t *live_ring_flush_word(const struct live_ring *ring, uint32_t *ret_seen);

/* Whether one of these processes holds a lock of the ring. */
bool live_ring_has_process(int descriptor, const int32_t *pids, size_t count);

#endif
