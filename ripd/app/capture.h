/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture.h - captures of processes that did not leave their ring in order: the remains in the ring, the stalls, and
 * how the process ended.
 *
 * Guarantees
 *   A. The ring is copied as soon as the end is noticed. This may be before the end is certain: then the capture waits
 *      until it is. How a process ended is known when its parent has waited for it; ripd waits for that at most
 *      CAPTURE_STATUS_NS.
 *   B. The cost of one user's captures is bounded in time and memory (WORK_CAPTURE_BYTES): about thirty captures at
 *      once, and eight more with each scan. Captures of processes that executed another program may use half of that.
 *      The pending captures are bounded too (CAPTURE_PENDING_MAX, CAPTURE_PENDING_BYTES).
 *
 * Used by the scanner thread only.
 */
#ifndef RIPD_APP_CAPTURE_H
#define RIPD_APP_CAPTURE_H

#include <stdint.h>

#include "cases/health.h"
#include "cases/snapshot.h"
#include "ring/registry.h"
#include "work/work.h"

#define CAPTURE_STATUS_NS UINT64_C(500000000)
#define CAPTURE_POLL_NS UINT64_C(20000000) /* polling interval while an exit status is not known */
#define CAPTURE_PENDING_MAX 32u
#define CAPTURE_PENDING_BYTES (UINT64_C(64) << 20)
#define CAPTURE_COST_BYTES (UINT64_C(1) << 20)  /* fixed cost of a capture in WORK_CAPTURE_BYTES */
#define CAPTURE_ID_COST_BYTES 8u                /* additional cost for each id of the ring */
#define CAPTURE_CRASH_BYTES (UINT64_C(1) << 24) /* reserved for crashes: exec captures must leave it free */

struct capturing;

/* Errors in the state directory are logged, and each capture tries again. Returns 0 or -errno. */
int capturing_open(struct capturing **ret_capturing, const char *state_directory, struct registry *registry,
                   struct work *work);
void capturing_close(struct capturing *capturing); /* NULL is allowed in this and the following functions */

/* Takes over the ends that the registry noticed. moment is the snapshot of the last scan, or NULL if there is none. */
void capturing_take(struct capturing *capturing, struct snapshot *moment);

/* Writes the captures that are complete. capturing_wait_ns() returns the time until the next call. */
void capturing_step(struct capturing *capturing, uint64_t now_mono_ns);
uint64_t capturing_wait_ns(const struct capturing *capturing);

/* Once per scan. */
void capturing_count(struct capturing *capturing, struct health *health);

#endif
