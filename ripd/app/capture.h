/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - what is kept of a process that did not leave its ring in order: its remains, what stalled, how it ended.
 *
 * Guarantees
 *   A. The ring is copied as soon as the end is noticed, which may be before it is over: then it is waited for. How the
 *      process ended is known when its parent has waited for it: that is waited for CAPTURE_STATUS_NS at most.
 *   B. What one user's processes may cost is bounded (WORK_CAPTURE_BYTES), in time as in memory: some thirty captures
 *      at once, and eight more by each scan. Programs that execute another one may have half of that. So is what waits
 *      (CAPTURE_PENDING_MAX, CAPTURE_PENDING_BYTES).
 *
 * Of the scanner's thread.
 */
#ifndef RIPD_APP_CAPTURE_H
#define RIPD_APP_CAPTURE_H

#include <stdint.h>

#include "cases/health.h"
#include "cases/snapshot.h"
#include "ring/registry.h"
#include "work/work.h"

#define CAPTURE_STATUS_NS UINT64_C(500000000)
#define CAPTURE_LOOK_NS UINT64_C(20000000) /* between two looks at whether the status is known */
#define CAPTURE_PENDING_MAX 32u
#define CAPTURE_PENDING_BYTES (UINT64_C(64) << 20)
#define CAPTURE_COST_BYTES (UINT64_C(1) << 20)  /* of WORK_CAPTURE_BYTES, for each capture */
#define CAPTURE_ID_COST_BYTES 8u                /* for each id of the ring */
#define CAPTURE_CRASH_BYTES (UINT64_C(1) << 24) /* that those who execute another program leave to those who crash */

struct capturing;

/* What fails in the state directory is logged, and tried again for each capture. 0 or -errno. */
int capturing_open(struct capturing **ret_capturing, const char *state_directory, struct registry *registry,
                   struct work *work);
void capturing_close(struct capturing *capturing); /* NULL is allowed, as it is below */

/* Takes in the ends that were noticed. moment: the last scan's; NULL = there was none. */
void capturing_take(struct capturing *capturing, struct snapshot *moment);

/* Writes those that wait no longer, and how long until the next look. */
void capturing_step(struct capturing *capturing, uint64_t now_mono_ns);
uint64_t capturing_wait_ns(const struct capturing *capturing);

/* Once per scan. */
void capturing_count(struct capturing *capturing, struct health *health);

#endif
