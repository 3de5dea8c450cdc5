/* SPDX-License-Identifier: Apache-2.0 */
/* test_ring_copy.c - copies of rings, read from their files: librip/session/ring_copy.c. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/ring_copy.h"
#include "support/ring_stage.h"
#include "support/test.h"

#define NAME "ring"

static struct ring_stage stage;
static struct ring_builder builder;
static int descriptor; /* of the ring's file */
static struct ring_copy copy;

static int set_up(void **state)
{
    (void)state;
    ring_stage_open(&stage);
    ring_stage_build(&stage, NAME, &(struct ring_geometry){.slot_capacity = 5000, .note_stride_bytes = 192}, &builder);
    descriptor = open(ring_stage_path(&stage, NAME), O_RDWR | O_CLOEXEC);
    assert_true(descriptor >= 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ring_copy_close(&copy); /* it may be closed already, or never opened */
    copy = (struct ring_copy){0};
    close(descriptor);
    ring_stage_release(&builder);
    ring_stage_close(&stage);
    return 0;
}

static uint64_t blocks_of_ring(void)
{
    struct stat status;

    assert_int_equal(fstat(descriptor, &status), 0);
    return (uint64_t)status.st_blocks;
}

static size_t count_ids(void)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[64];
    size_t total = 0, count;

    do {
        count = rip_view_scan(&copy.view, &position, samples, 64);
        total += count;
    } while (count == 64);
    return total;
}

/* The reader returns the same from the copy as from the mapped ring. */
static void assert_same(uint32_t slot)
{
    struct rip_view view;
    struct rip_id_info there, here;
    struct rip_note_info note_there, note_here;
    struct rip_entry trail_there[RIP_ENTRY_COUNT], trail_here[RIP_ENTRY_COUNT];
    size_t count_there, count_here;

    assert_int_equal(rip_view_open(&view, builder.bytes, builder.size_bytes), RIP_OK);
    assert_int_equal(rip_view_id(&view, slot, &there), RIP_OK);
    assert_int_equal(rip_view_id(&copy.view, slot, &here), RIP_OK);
    assert_memory_equal(&there, &here, sizeof(here));
    assert_int_equal(rip_view_trail(&view, slot, trail_there, &count_there), RIP_OK);
    assert_int_equal(rip_view_trail(&copy.view, slot, trail_here, &count_here), RIP_OK);
    assert_int_equal(count_there, count_here);
    assert_memory_equal(trail_there, trail_here, count_here * sizeof(*trail_here));
    assert_int_equal(rip_view_note(&view, slot, &note_there), RIP_OK);
    assert_int_equal(rip_view_note(&copy.view, slot, &note_here), RIP_OK);
    assert_memory_equal(&note_there, &note_here, sizeof(note_here));
}

/* Adjacent slots, small and large gaps, and both ends. */
static const uint32_t slots[] = {0, 1, 2, 5, 9, 10, 62, 63, 64, 127, 128, 700, 4095, 4096, 4999};

static void add_ids(void)
{
    for (size_t i = 0; i < COUNT_OF(slots); i++) {
        ring_builder_add_id(&builder, slots[i], 100 + slots[i], 7, 0, "id");
        ring_builder_run_to(&builder, slots[i], 3 + slots[i]);
        ring_builder_note(&builder, slots[i], "note", 4);
    }
}

static int copy_once(struct ring_copy *ret_copy, int of)
{
    int result = ring_copy_open(ret_copy, of);

    if (result == 0 && (result = ring_copy_take(ret_copy)) != 0)
        ring_copy_close(ret_copy);
    return result;
}

TEST_F(copy_equals_the_ring)
{
    static const uint8_t build_id[] = {1, 2, 3};
    struct rip_module_info module;
    struct rip_process_info process;
    uint64_t blocks;

    add_ids();
    ring_builder_add_process(&builder, 0, 4711, 99, "server");
    ring_builder_link_module(&builder, 0, ring_builder_add_module(&builder, 16, 32, 0, "/bin/x", build_id, 3));
    blocks = blocks_of_ring();
    assert_int_equal(ring_copy_open(&copy, descriptor), 0);
    for (unsigned times = 0; times < 2; times++) {
        assert_int_equal(ring_copy_take(&copy), 0);
        assert_int_equal(count_ids(), COUNT_OF(slots));
        for (size_t i = 0; i < COUNT_OF(slots); i++)
            assert_same(slots[i]);
        assert_int_equal(rip_view_process(&copy.view, 0, &process), RIP_OK);
        assert_int_equal(process.pid, 4711);
        assert_int_equal(rip_view_module(&copy.view, 0, 0, &module), RIP_OK);
        assert_int_equal(module.end, 32);
        ring_builder_run_to(&builder, slots[3], 1000);
        ring_builder_remove_id(&builder, slots[0]);
        ring_builder_add_id(&builder, slots[0], 1, 1, 0, "another");
        ring_builder_note(&builder, slots[0], "else", 4);
    }
    assert_int_equal(blocks_of_ring(), blocks); /* no page was allocated */
}

/* A slot while rip_exit() is in progress: live in the bitmap, ended in the log. */
static void log_end(uint32_t slot, uint64_t number)
{
    const uint64_t generation = ring_builder_slot(&builder, slot)->generation;

    builder.ring->compatible_flags |= RIP_RING_COUNTS_ENDED;
    builder.ring->ended[number % RIP_ENDED_COUNT] =
        generation << RIP_ENDED_GENERATION_SHIFT | RIP_ENDED_LAP(number) << RIP_ENDED_LAP_SHIFT | slot;
    builder.ring->ended_count = number + 1;
    builder.ring->ended_begun_count = (uint32_t)number + 1;
    builder.ring->ended_snap_count += ring_builder_slot(&builder, slot)->count;
}

TEST_F(ended_id_is_not_live)
{
    struct rip_entry trail[RIP_ENTRY_COUNT];
    struct rip_ring_info info;
    struct rip_id_info id;
    size_t count;

    add_ids();
    log_end(64, 0);
    log_end(4096, 1);
    ring_builder_set_live(&builder, 4096, false); /* its end is almost complete */
    assert_int_equal(copy_once(&copy, descriptor), 0);
    assert_int_equal(count_ids(), COUNT_OF(slots) - 2);
    rip_view_info(&copy.view, &info);
    assert_int_equal(info.ended_settled, 1);
    assert_int_equal(info.ended_snap_count, 3 + 64 + 3 + 4096);
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t slot = i == 0 ? 64 : 4096, generation = ring_builder_slot(&builder, slot)->generation;

        assert_int_equal(rip_view_id(&copy.view, slot, &id), RIP_NOT_LIVE);
        assert_int_equal(rip_view_ended_id(&copy.view, slot, generation, &id), RIP_OK);
        assert_int_equal(id.id, 100 + slot);
        assert_int_equal(rip_view_ended_trail(&copy.view, slot, generation, trail, &count), RIP_OK);
        assert_int_equal(count, RIP_ENTRY_COUNT);
        assert_int_equal(trail[0].snap, 3 + slot);
    }
}

/* An end is in progress when the header is copied: the counts do not match each other. */
TEST_F(end_in_progress_is_reported)
{
    struct rip_ring_info info;

    add_ids();
    log_end(64, 0);
    builder.ring->ended_begun_count++;
    assert_int_equal(copy_once(&copy, descriptor), 0);
    rip_view_info(&copy.view, &info);
    assert_int_equal(info.ended_settled, 0);
}

TEST_F(a_hole_in_place_of_data_is_refused)
{
    uint64_t blocks;

    add_ids();
    for (uint32_t slot = 1024; slot < 4000; slot++)
        ring_builder_set_live(&builder, slot, true);
    blocks = blocks_of_ring();
    assert_int_equal(copy_once(&copy, descriptor), -EBADMSG);
    assert_string_equal(copy.reason, "has a hole in place of data");
    assert_int_equal(blocks_of_ring(), blocks);
}

static bool is_over; /* accessed with __atomic */

static void *change_generation(void *slot)
{
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        __atomic_fetch_add(&((struct rip_slot *)slot)->generation, 2, __ATOMIC_RELAXED);
    return NULL;
}

/* A slot that changes during every copy is copied without its entries. */
TEST_F(slot_that_keeps_changing_has_no_entries)
{
    struct rip_entry trail[RIP_ENTRY_COUNT];
    pthread_t thread;
    size_t count;

    add_ids();
    assert_int_equal(ring_copy_open(&copy, descriptor), 0);
    assert_int_equal(pthread_create(&thread, NULL, change_generation, ring_builder_slot(&builder, 64)), 0);
    do {
        assert_int_equal(ring_copy_take(&copy), 0);
        assert_int_equal(rip_view_trail(&copy.view, 64, trail, &count), RIP_OK);
        assert_same(63);
    } while (count != 0);
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* A few pages may claim to be a large ring full of processes: copying them takes only a few pages. */
TEST_F(copy_takes_no_more_memory_than_the_file)
{
    const struct ring_geometry geometry = {
        .slot_capacity = 64, .process_capacity = RIP_PROCESS_MAX, .process_stride_bytes = 4096};
    struct ring_builder large;
    int file;

    ring_stage_build(&stage, "large", &geometry, &large);
    large.ring->process_high_water = RIP_PROCESS_MAX;
    file = open(ring_stage_path(&stage, "large"), O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(copy_once(&copy, file), -EBADMSG);
    assert_string_equal(copy.reason, "has a hole in place of data");
    close(file);
    ring_stage_release(&large);
}

TEST_F(truncated_file_is_detected)
{
    add_ids();
    assert_int_equal(ring_copy_open(&copy, descriptor), 0);
    assert_int_equal(ring_copy_take(&copy), 0);
    assert_int_equal(ftruncate(descriptor, 8192), 0);
    assert_int_equal(ring_copy_take(&copy), -EBADMSG);
    assert_string_equal(copy.reason, "was cut short");
}

static void assert_refused(const char *name, int error, const char *reason)
{
    int file = open(ring_stage_path(&stage, name), O_RDONLY | O_CLOEXEC);

    assert_true(file >= 0);
    assert_int_equal(copy_once(&copy, file), error);
    assert_string_equal(copy.reason, reason);
    close(file);
}

TEST_F(other_files_are_refused)
{
    ring_stage_write(&stage, "empty", "", 0);
    ring_stage_write(&stage, "text", "no ring at all", 14);
    assert_refused("empty", -EINVAL, "is not a ring");
    assert_refused("text", -EINVAL, "is not a ring");
    ring_stage_write(&stage, "short", builder.bytes, 4096);
    assert_refused("short", -EBADMSG, "is shorter than its header says");
    builder.ring->format_version = 7;
    assert_refused(NAME, -EPROTONOSUPPORT, "is a ring of another format version");
}
