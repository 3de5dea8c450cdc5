/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - feeds every ring's live slots to the detector, in batches that stay in the first-level cache.
 */
#ifndef RIPD_RING_SCAN_H
#define RIPD_RING_SCAN_H

#include "detect/detector.h"
#include "ring/registry.h"

#define SCAN_BATCH 128u /* a microsecond or two: memory must not lie idle while the detector works */

/* Who else gets what the detector gets: each ring in the order of the scan, read within its user's time, or skipped. */
struct scan_tap {
    void *context;
    void (*ring)(void *context, struct ring *ring);
    void (*samples)(void *context, struct ring *ring, const struct rip_sample *samples, size_t count);
    void (*ring_end)(void *context, struct ring *ring); /* not of one that faulted */
    void (*skipped)(void *context, const struct ring *ring);
};

/*
 * Between detector_begin() and detector_suspects(). A ring that faults is damaged and left out. tap may be NULL. 0 or
 * -ENOMEM.
 */
int scan_run(struct registry *registry, struct detector *detector, const struct scan_tap *tap);

#endif
