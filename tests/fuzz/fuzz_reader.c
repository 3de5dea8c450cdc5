/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_reader.c - every function of rip/reader.h on any bytes. ring_walk.c checks the guarantees. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "support/ring_builder.h"
#include "support/ring_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct ring_walk walk;
    void *aligned;

    if ((uintptr_t)bytes % sizeof(uint64_t) == 0) {
        ring_walk(bytes, size_bytes, &walk);
        return 0;
    }
    aligned = malloc(size_bytes);
    if (aligned != NULL) {
        memcpy(aligned, bytes, size_bytes);
        ring_walk(aligned, size_bytes, &walk);
    }
    free(aligned);
    return 0;
}

size_t fuzz_seed(size_t number, uint8_t *ret_bytes, size_t capacity_bytes)
{
    static const struct ring_geometry geometries[] = {
        {.slot_capacity = 130, .process_capacity = 2, .module_capacity = 2},
        {.slot_capacity = 8, .process_capacity = 3, .module_capacity = 3, .process_stride_bytes = 1032},
        {.slot_capacity = 6, .slot_stride_bytes = 640, .entry_offset_bytes = 384, .process_capacity = 1},
        {.slot_capacity = 9, .entry_count = 8, .process_capacity = 1, .module_capacity = 1},
        {.slot_capacity = 3, .process_capacity = 1, .module_capacity = 1, .script_capacity = 4},
    };
    struct ring_builder builder;
    size_t size_bytes = 0;

    if (number > sizeof(geometries) / sizeof(geometries[0]))
        return 0;
    if (number == 0) {
        ring_builder_new_sample(&builder);
    } else {
        ring_builder_new(&builder, &geometries[number - 1]);
        ring_builder_add_process(&builder, 0, 1, 1, "seed");
        ring_builder_link_module(&builder, 0, ring_builder_add_module(&builder, 4096, 8192, 0, "/a", "id", 2));
        for (uint32_t i = 0; i < geometries[number - 1].script_capacity; i++)
            ring_builder_add_script(&builder, "order.rb", "place");
        for (uint32_t slot = 0; slot < geometries[number - 1].slot_capacity; slot++) {
            ring_builder_add_id(&builder, slot, slot, slot, 0, "seed");
            ring_builder_run_to(&builder, slot, 7 * slot);
            if (slot % 4 == 1)
                ring_builder_end_id(&builder, slot);
            if (slot % 3 == 0) {
                ring_builder_slot(&builder, slot)->wait_tag = (uint8_t)(7 * slot);
                ring_builder_slot(&builder, slot)->wait_owner = slot + 1;
                ring_builder_slot(&builder, slot)->idle_mark = UINT64_C(1000000000) * slot + 1;
            }
        }
    }
    if (builder.size_bytes <= capacity_bytes) {
        size_bytes = builder.size_bytes;
        memcpy(ret_bytes, builder.bytes, size_bytes);
    }
    ring_builder_free(&builder);
    return size_bytes;
}
