/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_ring.h - drains one ring file repeatedly, and detects which of its processes have ended. Touches its descriptor
 * and /proc.
 */
#ifndef RIP_SESSION_LIVE_RING_H
#define RIP_SESSION_LIVE_RING_H

#include <sys/types.h>

#include "session/drain.h"

struct live_ring;

struct drain_moment live_moment(void); /* Returns the current time. */

/* Where a ring is, and since when the session looks there. */
struct live_place {
    const char *directory;
    const char *name;
    int descriptor;            /* live_ring_open() takes ownership, also on failure */
    struct drain_moment since; /* of the last drain before the ring was seen, or of the start of the session */
    bool was_drained;          /* since is the moment of a drain */
    bool finds_ended;          /* call drain_find_ended() */
};

/* Returns the same errors as ring_copy_open(), or -ENOMEM. *ret_reason is a static phrase that follows the path. */
int live_ring_open(struct live_ring **ret_ring, const struct live_place *place, uint32_t number,
                   const char **ret_reason);
void live_ring_free(struct live_ring *ring);
/* Returns whether this is the file of the ring. */
bool live_ring_is(const struct live_ring *ring, dev_t device, ino_t inode);

/*
 * Starts a drain. live_ring_step() first copies the ring, then yields the events of one batch per call. It returns 1 if
 * there is more, 0 at the end of the drain, -ENOMEM, or the error of the sink.
 */
void live_ring_begin(struct live_ring *ring, struct drain_moment moment);
int live_ring_step(struct live_ring *ring, struct drain_batch *batch, const struct rip_sink *sink);

/*
 * As of the last drain: no process of the ring is alive and all that they did was yielded, or the ring cannot be read
 * any more.
 */
bool live_ring_has_ended(const struct live_ring *ring);
/* RING_END was yielded: the ring has ended and its file was removed, or the ring cannot be read any more. */
bool live_ring_is_gone(const struct live_ring *ring);
/* Returns why the ring cannot be read any more, or NULL if it can. */
const char *live_ring_reason(const struct live_ring *ring);

/* Yields all that the last copy contains, as if found then. Returns 0, -ENOMEM, or the error of the sink. */
int live_ring_repeat(const struct live_ring *ring, struct drain_batch *batch, const struct rip_sink *sink);

/*
 * Returns the address of the count of rip_flush() calls in the mapped header, or NULL if there is none. It is for a
 * futex only: reading it here could raise SIGBUS. *ret_seen is the value that the last copy contains.
 */
const uint32_t *live_ring_flush_word(const struct live_ring *ring, uint32_t *ret_seen);

/* Returns whether one of these processes holds a HOLDER lock of the ring. */
bool live_ring_has_process(int descriptor, const int32_t *pids, size_t count);

#endif
