/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_scan.c - rip_view_scan() returns every live slot once and in order, for any bitmaps and batch sizes.
 * Scanning a sparse file allocates nothing.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/guarded_copy.h"
#include "support/ring_walk.h"
#include "unit/reader_test.h"

static const size_t batch_sizes[] = {1, 7, 64, 256, 100000};
enum { BATCH_SIZES = COUNT_OF(batch_sizes), BATCH_MAX = 100000 };

static struct rip_sample samples[BATCH_MAX];

/* With every batch size the scan returns exactly the live slots. */
static void assert_scan_finds(const unsigned char *live)
{
    uint32_t capacity = builder.ring->slot_capacity;

    open_view();
    for (size_t size = 0; size < BATCH_SIZES; size++) {
        struct rip_scan_position position = {0};
        uint32_t slot = 0;
        size_t count;

        do {
            count = rip_view_scan(&view, &position, samples, batch_sizes[size]);
            for (size_t i = 0; i < count; i++, slot++) {
                while (slot < capacity && !live[slot])
                    slot++;
                assert_int_equal(samples[i].slot, slot);
                assert_int_equal(samples[i].progress, 1000 + slot);
            }
        } while (count == batch_sizes[size]);
        while (slot < capacity && !live[slot])
            slot++;
        assert_int_equal(slot, capacity);
        assert_int_equal(rip_view_scan(&view, &position, samples, batch_sizes[size]), 0);
    }
}

/* Returns whether slot `slot` of `capacity` is live in pattern `pattern`. */
static bool in_pattern(unsigned pattern, uint32_t slot, uint32_t capacity)
{
    static const uint32_t steps[] = {1, 2, 3, 63, 64, 65, 4095, 4096, 4097};
    enum { STEPS = COUNT_OF(steps) };

    if (pattern < STEPS)
        return slot % steps[pattern] == 0;
    if (pattern < 2 * STEPS)
        return slot % steps[pattern - STEPS] == steps[pattern - STEPS] - 1;
    switch (pattern - 2 * STEPS) {
    case 0:
        return false;
    case 1:
        return slot == capacity - 1;
    case 2:
        return slot / 64 % 2 == 1;
    case 3:
        return slot / 64 % 64 == 63;
    case 4:
        return slot % 67 != 13; /* most */
    case 5:
        return (slot * UINT32_C(2654435761)) >> 28 != 0;
    case 6:
        return slot / 64 % 5 != 2 || slot % 64 == 7; /* sparse words among full ones */
    default:
        return (slot * UINT32_C(2654435761) + pattern) >> 28 == 0; /* one in sixteen, scattered */
    }
}
enum { PATTERNS = 27 };

TEST(every_live_slot_once_and_in_order)
{
    static const uint32_t capacities[] = {1, 2, 63, 64, 65, 127, 128, 1000, 4095, 4096, 4097, 12345};

    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        struct ring_geometry geometry = {.slot_capacity = capacities[i], .process_capacity = 1, .module_capacity = 1};

        for (unsigned pattern = 0; pattern < PATTERNS; pattern++) {
            unsigned char *live = calloc(capacities[i], 1);

            ring_builder_new(&builder, &geometry);
            for (uint32_t slot = 0; slot < capacities[i]; slot++) {
                live[slot] = in_pattern(pattern, slot, capacities[i]);
                ring_builder_slot(&builder, slot)->count = live[slot] ? 1000 + slot : 0;
                if (live[slot])
                    ring_builder_set_live(&builder, slot, true);
            }
            assert_scan_finds(live);
            ring_builder_free(&builder);
            free(live);
        }
    }
}

TEST(a_sample_holds_what_the_slot_holds, NULL, free_ring)
{
    static const struct rip_sample expected[] = {
        {.slot = 0, .generation = 2, .tid = 4690, .idle = 1},
        {.slot = 1, .generation = 2, .tid = 4711, .progress = 918273, .deadline_ms = 250, .counter_bias = 200},
        {.slot = 2, .generation = 2, .tid = 4712, .progress = 5, .idle = 1},
        {.slot = 3, .generation = 2, .progress = (UINT64_C(1) << 32) + 5},
        {.slot = 9, .generation = 2, .tid = 4716, .progress = 33, .process = 1},
    };
    struct rip_scan_position position = {0};

    ring_builder_new_sample(&builder);
    ring_builder_slot(&builder, 1)->deadline_ms = 250;
    ring_builder_slot(&builder, 1)->counter_bias = 200;
    open_view();
    /* Slot 5 is being registered. */
    assert_int_equal(rip_view_scan(&view, &position, samples, BATCH_MAX), COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        if (memcmp(&samples[i], &expected[i], sizeof(expected[i])) != 0)
            fail_msg("wrong sample of slot %u", expected[i].slot);
    }
}

TEST(snap_ends_idle, open_sample, free_ring)
{
    struct rip_scan_position position = {0};

    ring_builder_snap(&builder, 2, 0x401000);
    rip_view_scan(&view, &position, samples, BATCH_MAX);
    assert_int_equal(samples[2].slot, 2);
    assert_int_equal(samples[2].idle, 0);
    ring_builder_slot(&builder, 2)->idle_mark = ring_builder_slot(&builder, 2)->count; /* not a complement: not idle */
    position = (struct rip_scan_position){0};
    rip_view_scan(&view, &position, samples, BATCH_MAX);
    assert_int_equal(samples[2].idle, 0);
}

/* Skipped slots do not count: fewer samples than requested still mean the end of the scan. */
TEST(slots_being_registered_are_skipped, NULL, free_ring)
{
    struct ring_geometry geometry = {.slot_capacity = 1000};
    struct rip_scan_position position = {0};

    ring_builder_new(&builder, &geometry);
    for (uint32_t slot = 0; slot < 1000; slot++) {
        ring_builder_set_live(&builder, slot, true);
        ring_builder_slot(&builder, slot)->generation = slot % 100 == 99 ? 2 : 3;
    }
    open_view();
    assert_int_equal(rip_view_scan(&view, &position, samples, 8), 8);
    assert_int_equal(samples[7].slot, 799);
    assert_int_equal(position.left_out_count, 792);
    assert_int_equal(rip_view_scan(&view, &position, samples, 8), 2);
    assert_int_equal(samples[1].slot, 999);
    assert_int_equal(position.left_out_count, 990);
    memset(builder.bytes + builder.ring->live_offset, 0xaa, 1000 / 8); /* sparse, so that words are not dense */
    memset(builder.bytes + builder.ring->live_offset + 8, 0x88, 1000 / 8 - 8);
    position = (struct rip_scan_position){0};
    assert_int_equal(rip_view_scan(&view, &position, samples, BATCH_MAX), 10);
    assert_int_equal(position.left_out_count, 32 + 117 * 2 - 10);
}

TEST(scan_without_room_makes_no_progress, open_sample, free_ring)
{
    struct rip_scan_position position = {0};

    assert_int_equal(rip_view_scan(&view, &position, NULL, 0), 0);
    assert_int_equal(rip_view_scan(&view, &position, samples, 100), 5);
}

/* Bits without a slot are ignored, in the last word and beyond, also if the bitmaps are all ones. */
TEST(bits_beyond_the_last_slot_are_ignored)
{
    static const uint32_t capacities[] = {1, 63, 64, 65, 130};

    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        struct ring_geometry geometry = {.slot_capacity = capacities[i], .process_capacity = 1, .module_capacity = 1};
        struct guarded_copy copy;
        struct ring_walk walk;
        uint64_t used_bytes;

        ring_builder_new(&builder, &geometry);
        memset(builder.bytes + builder.ring->summary_offset, 0xff, RIP_PAGE_BYTES);
        memset(builder.bytes + builder.ring->live_offset, 0xff, RIP_PAGE_BYTES);
        used_bytes = builder.ring->slot_offset + (uint64_t)capacities[i] * RIP_SLOT_BYTES;
        builder.ring->file_bytes = used_bytes;
        guarded_copy_new(&copy, builder.bytes, used_bytes);
        assert_int_equal(ring_walk(copy.bytes, used_bytes, &walk), RIP_OK);
        assert_int_equal(walk.samples, capacities[i]);
        memset(copy.bytes + builder.ring->summary_offset, 0x80, 1); /* points past the last word */
        assert_int_equal(ring_walk(copy.bytes, used_bytes, &walk), RIP_OK);
        assert_int_equal(walk.samples, 0);
        guarded_copy_free(&copy);
        ring_builder_free(&builder);
    }
}

/* A live bit counts only if its summary bit is set: otherwise the page of the word may be a hole. */
TEST(live_bit_needs_its_summary_bit, NULL, free_ring)
{
    struct rip_scan_position position = {0};
    struct rip_id_info info;

    ring_builder_new_sample(&builder);
    memset(builder.bytes + builder.ring->summary_offset, 0, sizeof(uint64_t));
    open_view();
    assert_int_equal(rip_view_scan(&view, &position, samples, BATCH_MAX), 0);
    assert_int_equal(rip_view_id(&view, 1, &info), RIP_NOT_LIVE);
}

/* A position of another ring returns slots of this ring, or none. */
TEST(foreign_scan_position_is_harmless, NULL, free_ring)
{
    struct rip_scan_position positions[] = {
        {.next_word = 0, .pending = UINT64_MAX},      {.next_word = 1, .pending = UINT64_MAX},
        {.next_word = 2, .pending = UINT64_MAX},      {.next_word = UINT32_MAX, .pending = UINT64_MAX},
        {.next_word = UINT32_MAX / 64, .pending = 1},
    };
    struct ring_geometry geometry = {.slot_capacity = 100, .process_capacity = 1, .module_capacity = 1};

    ring_builder_new(&builder, &geometry);
    open_view();
    assert_int_equal(rip_view_scan(&view, &positions[0], samples, BATCH_MAX), 64);
    assert_int_equal(rip_view_scan(&view, &positions[1], samples, BATCH_MAX), 36);
    assert_int_equal(samples[35].slot, 99);
    for (size_t i = 2; i < 5; i++)
        assert_int_equal(rip_view_scan(&view, &positions[i], samples, BATCH_MAX), 0);
}

static uint64_t blocks_of(int descriptor)
{
    struct stat status;

    assert_int_equal(fstat(descriptor, &status), 0);
    return (uint64_t)status.st_blocks;
}

/* Of four million slots a thousand are live: reading all of them allocates no page of tmpfs. */
TEST(reading_a_sparse_ring_allocates_nothing)
{
    struct ring_geometry geometry = {.slot_capacity = 4 * 1024 * 1024, .process_capacity = 512};
    uint64_t size_bytes = ring_builder_size(&geometry), before;
    int descriptor = memfd_create("sparse-ring", MFD_CLOEXEC); /* a file in the kernel's internal tmpfs */
    struct rip_scan_position position = {0};
    struct rip_ended ended[200];
    void *writable, *readable;
    uint64_t next;

    assert_true(descriptor >= 0);
    assert_int_equal(ftruncate(descriptor, (off_t)size_bytes), 0);
    writable = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    assert_true(writable != MAP_FAILED);
    ring_builder_init(&builder, writable, &geometry);
    ring_builder_add_process(&builder, 0, 1, 1, "sparse");
    for (uint32_t i = 0; i < 1000; i++) {
        ring_builder_add_id(&builder, i * 4099 + 17, i + 1, i + 1, 0, "x");
        ring_builder_run_to(&builder, i * 4099 + 17, 40);
    }
    for (uint32_t i = 0; i < 1000; i += 10)
        ring_builder_end_id(&builder, i * 4099 + 17);
    munmap(writable, size_bytes);
    before = blocks_of(descriptor);
    assert_true(before * 512 < 2 * 1000 * RIP_PAGE_BYTES + (1 << 20));

    readable = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    assert_true(readable != MAP_FAILED);
    assert_int_equal(rip_view_open(&view, readable, size_bytes), RIP_OK);
    assert_int_equal(rip_view_scan(&view, &position, samples, BATCH_MAX), 900);
    assert_int_equal(samples[899].slot, 999 * 4099 + 17);
    assert_int_equal(rip_view_ended(&view, 0, ended, 200, &next), 100);
    for (uint32_t i = 0; i < 100; i++) {
        struct rip_id_info info;

        assert_int_equal(rip_view_ended_id(&view, ended[i].slot, ended[i].generation, &info), RIP_OK);
        assert_int_equal(info.id, 10 * i + 1);
    }
    assert_int_equal(blocks_of(descriptor), before);
    for (uint32_t slot = 0; slot < geometry.slot_capacity; slot += 5) { /* most of these ids do not exist */
        struct rip_id_info info;

        rip_view_id(&view, slot, &info);
    }
    for (uint32_t process = 0; process < 512; process++) {
        struct rip_process_info info;
        struct rip_module_info module;

        assert_int_equal(rip_view_process(&view, process, &info), process == 0 ? RIP_OK : RIP_NOT_LIVE);
        assert_int_equal(rip_view_module(&view, process, 0, &module), RIP_NOT_LIVE);
    }
    assert_int_equal(blocks_of(descriptor), before);
    munmap(readable, size_bytes);
    close(descriptor);
}

static uint64_t live_count(void)
{
    open_view();
    return rip_view_live_count(&view);
}

TEST(live_slots_are_counted)
{
    static const uint32_t capacities[] = {1, 63, 64, 65, 4095, 4096, 4097, 70000};

    for (size_t i = 0; i < COUNT_OF(capacities); i++) {
        const struct ring_geometry geometry = {.slot_capacity = capacities[i]};
        uint64_t expected = 0;

        ring_builder_new(&builder, &geometry);
        assert_int_equal(live_count(), 0);
        for (uint32_t slot = 0; slot < capacities[i]; slot += 1 + slot % 7, expected++)
            ring_builder_set_live(&builder, slot, true);
        assert_int_equal(live_count(), expected);
        /* bits past the last slot or word belong to no id */
        memset(builder.bytes + builder.ring->summary_offset, 0xff, RIP_PAGE_BYTES);
        memset(builder.bytes + builder.ring->live_offset, 0xff, (capacities[i] + 63) / 64 * 8);
        assert_int_equal(live_count(), capacities[i]);
        /* a word without its summary bit is not read */
        memset(builder.bytes + builder.ring->summary_offset, 0, RIP_PAGE_BYTES);
        assert_int_equal(live_count(), 0);
        ring_builder_free(&builder);
    }
}
