/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader.c - opening a ring: which bytes are a ring, the status of other bytes, and where reading stops. Images
 * end at a page without access, so that reading one byte too far ends the program.
 */
#include <stdlib.h>
#include <string.h>

#include "support/guarded_copy.h"
#include "support/ring_walk.h"
#include "unit/reader_test.h"

TEST(every_status_has_its_own_text)
{
    for (enum rip_status one = RIP_OK; one <= RIP_CHANGED; one++) {
        assert_true(rip_status_text(one)[0] != '\0');
        for (enum rip_status other = RIP_OK; other < one; other++)
            assert_string_not_equal(rip_status_text(one), rip_status_text(other));
    }
    assert_non_null(rip_status_text((enum rip_status)(RIP_CHANGED + 1)));
    assert_non_null(rip_status_text((enum rip_status) - 1));
}

TEST(a_ring_opens_and_describes_itself, open_sample, free_ring)
{
    struct rip_ring_info info;
    struct ring_walk walk;

    builder.ring->compatible_flags = UINT64_MAX; /* ignored: readers ignore unknown compatible flags */
    builder.ring->refused_full_count = 3;
    builder.ring->refused_memory_count = 4;
    builder.ring->refused_process_count = 5;
    builder.ring->modules_dropped_count = 6;
    open_view();
    rip_view_info(&view, &info);
    assert_memory_equal(info.ring_id, builder.ring->ring_id, sizeof(info.ring_id));
    assert_memory_equal(info.boot_id, builder.ring->boot_id, sizeof(info.boot_id));
    assert_int_equal(info.created_wall_ns, 1700000000000000000);
    assert_int_equal(info.created_boot_ns, 5000000000);
    assert_int_equal(info.slot_capacity, 10);
    assert_int_equal(info.process_high_water, 2);
    assert_int_equal(info.module_high_water, 3);
    assert_int_equal(info.refused_full_count, 3);
    assert_int_equal(info.refused_memory_count, 4);
    assert_int_equal(info.refused_process_count, 5);
    assert_int_equal(info.modules_dropped_count, 6);
    assert_int_equal(info.registered_count, 7);

    assert_int_equal(ring_walk(builder.bytes, builder.size_bytes, &walk), RIP_OK);
    assert_int_equal(walk.samples, 5); /* seven registered: one ended, one incomplete */
    assert_int_equal(walk.ids, 5);
    assert_int_equal(walk.entries, 32 + 5 + 32 + 32);
    assert_int_equal(walk.processes, 2);
    assert_int_equal(walk.modules, 4);
}

TEST(foreign_bytes_are_not_a_ring)
{
    static const char text[64] __attribute__((aligned(8))) = "RIPRONG\0 and other bytes of some foreign file";
    struct guarded_copy zeros;

    guarded_copy_new(&zeros, NULL, 2 * RIP_PAGE_BYTES);
    expect_open(zeros.bytes, 2 * RIP_PAGE_BYTES, RIP_NOT_A_RING);
    expect_open(zeros.bytes + 2 * RIP_PAGE_BYTES, 0, RIP_NOT_A_RING);
    expect_open(text, sizeof(text), RIP_NOT_A_RING);
    guarded_copy_free(&zeros);
}

/* The ring of the builder without its last word. */
static void expect_truncated(enum rip_status status)
{
    expect_open(builder.bytes, builder.size_bytes - 8, status);
}

/* The first error in this order decides, from the most general to the most specific. */
TEST(first_error_in_order_is_reported, open_sample, free_ring)
{
    struct rip_ring *ring;

    ring = builder.ring;
    ring->slot_stride_bytes = 0;
    expect_whole(RIP_DAMAGED);
    expect_truncated(RIP_TRUNCATED);
    ring->incompatible_flags = UINT64_C(1) << 63;
    expect_truncated(RIP_UNKNOWN_FEATURE);
    ring->byte_order = 0x04030201;
    expect_truncated(RIP_OTHER_BYTE_ORDER);
    ring->byte_order = 0x02010403;
    expect_truncated(RIP_DAMAGED);
    ring->format_version = RIP_FORMAT_VERSION + 1;
    expect_truncated(RIP_OTHER_VERSION);
    ring->magic = __builtin_bswap64(RIP_MAGIC); /* as on a machine of the other byte order */
    expect_truncated(RIP_OTHER_BYTE_ORDER);
    ring->magic = RIP_MAGIC ^ 1;
    expect_truncated(RIP_NOT_A_RING);
}

TEST(every_truncation_is_detected, open_sample, free_ring)
{
    uint64_t step = 8;

    for (uint64_t size = 0; size < builder.size_bytes; size += step) {
        struct guarded_copy cut;

        guarded_copy_new(&cut, builder.bytes, size);
        expect_open(cut.bytes, size, size < 8 ? RIP_NOT_A_RING : RIP_TRUNCATED);
        guarded_copy_free(&cut);
        if (size >= RIP_PAGE_BYTES)
            step = 1024;
    }
}

TEST(failure_does_not_change_the_view, open_sample, free_ring)
{
    struct rip_view before;

    memset(&view, 0x5a, sizeof(view));
    before = view;
    builder.ring->lock_life_offset = builder.ring->lock_holder_offset; /* checked last */
    assert_int_equal(rip_view_open(&view, builder.bytes, builder.size_bytes), RIP_DAMAGED);
    assert_memory_equal(&view, &before, sizeof(view));
}

/* The last byte of the last slot is the last byte of the file. */
TEST(no_read_beyond_the_file)
{
    static const struct ring_geometry geometries[] = {
        {.slot_capacity = 1, .process_capacity = 1, .module_capacity = 1},
        {.slot_capacity = 64, .process_capacity = 3, .module_capacity = 5},
        {.slot_capacity = 65, .slot_stride_bytes = 392, .process_stride_bytes = 2048, .module_stride_bytes = 520},
        {.slot_capacity = 5, .slot_stride_bytes = 640, .entry_offset_bytes = 384},
        {.slot_capacity = 100, .entry_count = 4, .entry_offset_bytes = 288},
    };

    for (size_t i = 0; i < COUNT_OF(geometries); i++) {
        uint32_t capacity = geometries[i].slot_capacity;
        struct guarded_copy copy;
        struct ring_walk walk;

        ring_builder_new(&builder, &geometries[i]);
        builder.ring->file_bytes = builder.ring->slot_offset + (uint64_t)capacity * builder.ring->slot_stride_bytes;
        for (uint32_t slot = 0; slot < capacity; slot++) {
            ring_builder_add_id(&builder, slot, slot + 1, 1, 0, "x");
            ring_builder_run_to(&builder, slot, 1000 + slot);
        }
        guarded_copy_new(&copy, builder.bytes, builder.ring->file_bytes);
        assert_int_equal(ring_walk(copy.bytes, builder.ring->file_bytes, &walk), RIP_OK);
        assert_int_equal(walk.samples, capacity);
        assert_int_equal(walk.entries, capacity * builder.ring->entry_count);
        expect_open(copy.bytes, builder.ring->file_bytes - 8, RIP_TRUNCATED);
        ((struct rip_ring *)(void *)copy.bytes)->file_bytes -= 8;
        expect_open(copy.bytes, builder.ring->file_bytes, RIP_DAMAGED);
        guarded_copy_free(&copy);
        ring_builder_free(&builder);
    }
}

TEST(later_header_changes_have_no_effect, open_sample, free_ring)
{
    struct rip_id_info info;

    memset(builder.bytes, 0xff, 512);
    assert_int_equal(rip_view_id(&view, 9, &info), RIP_OK);
    assert_int_equal(info.id, 22);
    assert_int_equal(rip_view_id(&view, 10, &info), RIP_NOT_LIVE);
}
