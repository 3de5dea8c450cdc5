/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - feeds every ring's live slots to the detector, in batches that stay in the first-level cache.
 */
#ifndef RIPD_RING_SCAN_H
#define RIPD_RING_SCAN_H

#include "detect/detector.h"
#include "ring/registry.h"

#define SCAN_BATCH 128u /* a microsecond or two: memory must not lie idle while the detector works */

/* Between detector_begin() and detector_suspects(). A ring that faults is damaged and left out. 0 or -ENOMEM. */
int scan_run(struct registry *registry, struct detector *detector);

#endif
