/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.c - every ring's live slots through the detector. Touches the mappings, and the detector's table.
 *
 * Guarantees
 *   1. Nothing is allocated while a guard is on: a batch is read under its guard, then fed.
 *   2. A ring that faults is damaged at once and not named to the detector on later scans, which thereby forgets it;
 *      the other rings are scanned as if nothing had happened.
 */
#include "ring/scan.h"

#include <errno.h>

/* -EIO: it faulted. -ENOMEM: the detector lacks memory for some of its ids. */
static int scan_ring(struct ring *ring, struct detector *detector)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[SCAN_BATCH];
    uint64_t live_count = 0;
    size_t count;
    int result = detector_ring(detector, ring->serial, ring->dead, ring->process_count);

    if (result != 0)
        return result;
    do {
        count = 0;
        if (mapping_scan(&ring->mapping, &position, samples, SCAN_BATCH, &count) != 0)
            return -EIO;
        if (detector_feed(detector, samples, count) != 0)
            result = -ENOMEM; /* what it knows already it goes on watching */
        live_count += count;
    } while (count == SCAN_BATCH);
    ring->live_count = live_count;
    return result;
}

int scan_run(struct registry *registry, struct detector *detector)
{
    struct ring **rings;
    size_t count;
    int result = 0;

    rings = registry_rings(registry, &count);
    for (size_t i = 0; i < count;) {
        int error = scan_ring(rings[i], detector);

        if (error == -EIO) {
            registry_damage(registry, rings[i]);
            rings = registry_rings(registry, &count); /* without it: the next one is at i now */
            continue;
        }
        if (error != 0)
            result = error;
        i++;
    }
    return result;
}
