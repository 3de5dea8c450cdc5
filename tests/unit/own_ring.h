/* SPDX-License-Identifier: Apache-2.0 */
/* own_ring.h - rings of this process, with ids that have passed one place. */
#ifndef TESTS_UNIT_OWN_RING_H
#define TESTS_UNIT_OWN_RING_H

#include <unistd.h>

#include "support/ring_stage.h"

/* Ids 100, 101, ... in the first slots. The caller releases the ring with ring_stage_release(). */
static inline void own_ring_build(const struct ring_stage *stage, const char *name, uint32_t slot_count,
                                  uint32_t id_count, struct ring_builder *ret_ring)
{
    const struct ring_geometry geometry = {.slot_capacity = slot_count};

    ring_stage_build(stage, name, &geometry, ret_ring);
    ring_builder_add_process(ret_ring, 0, (uint32_t)getpid(), ring_stage_start_time(getpid()), "test");
    ring_builder_process(ret_ring, 0)->flags = 0;
    ring_builder_process(ret_ring, 0)->pid_namespace = ring_stage_pid_namespace();
    for (uint32_t slot = 0; slot < id_count; slot++) {
        ring_builder_add_id(ret_ring, slot, 100 + slot, (uint32_t)getpid(), 0, "worker");
        ring_builder_snap(ret_ring, slot, 0x1000);
    }
}

#endif
