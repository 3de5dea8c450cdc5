/* SPDX-License-Identifier: Apache-2.0 */
/* test_remains.c - what a process left behind in a ring, copied to a ring of its own: ripd/ring/remains.c. */
#include "unit/registry_test.h"

#include "ring/remains.h"
#include "support/guarded_copy.h"

#define SECRET "of another process"

enum { OURS = 3, THEIRS = 5 }; /* records; the record of the remains is 0 */

static struct ring_builder builder;
static struct guarded_copy copy;
static struct remains remains;
static struct rip_view view; /* of the copy */

static int set_up(void **state)
{
    scene_open(state);
    return 0;
}

static void drop_ring(void)
{
    if (copy.mapping != NULL)
        guarded_copy_free(&copy);
    copy = (struct guarded_copy){0};
    free(remains.bytes);
    remains = (struct remains){0};
    if (builder.bytes == NULL)
        return;
    ring_stage_release(&builder);
    builder = (struct ring_builder){0};
    remove_file("ring");
}

static int tear_down(void **state)
{
    drop_ring();
    return scene_close(state);
}

/* Makes a ring without ids but with two processes, in place of the ring before. */
static void build(struct ring_geometry geometry)
{
    drop_ring();
    ring_stage_build(&scene.stage, "ring", &geometry, &builder);
    ring_stage_claim(&builder, OURS, getpid(), "ours");
    ring_stage_claim(&builder, THEIRS, getpid(), SECRET);
}

/* Adds an id of one of the processes, with a trail and a note. */
static void add_id(uint32_t slot, bool ours)
{
    const char *note = ours ? "GET /ours" : SECRET;

    ring_builder_add_id(&builder, slot, slot + 1, 71, ours ? OURS : THEIRS, ours ? "ours" : SECRET);
    ring_builder_run_to(&builder, slot, slot + 100);
    ring_builder_note(&builder, slot, note, (uint8_t)strlen(note));
}

static void add_ids(uint32_t count)
{
    for (uint32_t slot = 0; slot < count; slot++)
        ring_builder_add_id(&builder, slot, slot, 0, OURS, "");
}

static struct ring *refreshed_ring(void)
{
    scene_watch("", NULL, "/proc");
    scene_refresh();
    assert_int_equal(ring_count(), 1);
    return ring_named("ring");
}

/* Takes the remains of our process. The copy ends at a page without access. */
static void take(void)
{
    assert_int_equal(remains_take(refreshed_ring(), OURS, &remains), 0);
    assert_true(remains.byte_count <= REMAINS_BYTES_MAX);
    guarded_copy_new(&copy, remains.bytes, remains.byte_count);
    assert_int_equal(rip_view_open(&view, copy.bytes, remains.byte_count), RIP_OK);
}

static void assert_no_secret(void)
{
    assert_null(memmem(remains.bytes, remains.byte_count, SECRET, strlen(SECRET)));
}

TEST(ids_trails_notes_and_modules, set_up, tear_down)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_note_info note;
    struct rip_ring_info ring;
    struct rip_ended ended;
    struct rip_id_info id;
    uint64_t next;
    size_t count;

    build((struct ring_geometry){.slot_capacity = 320, .note_stride_bytes = sizeof(struct rip_slot_note)});
    for (uint32_t slot = 0; slot < 320; slot += 2)
        add_id(slot, slot % 4 == 0);
    ring_builder_end_id(&builder, 4);
    ring_builder_end_id(&builder, 6);
    ring_builder_add_id(&builder, 6, 7, 71, THEIRS, SECRET);
    ring_builder_link_module(&builder, THEIRS, ring_builder_add_module(&builder, 1, 2, 0, SECRET, NULL, 0));
    ring_builder_link_module(&builder, OURS,
                             ring_builder_add_module(&builder, 0x1000, 0x9000, 0x800, "/bin/ours", "\1\2\3", 3));
    take();
    assert_int_equal(remains.id_count, 79);
    assert_int_equal(remains.left_out_count, 0);
    assert_int_equal(rip_view_live_count(&view), 79);
    for (uint32_t slot = 0; slot < 79; slot++) {
        const uint32_t before = slot == 0 ? 0 : 4 * (slot + 1);

        assert_int_equal(rip_view_id(&view, slot, &id), RIP_OK);
        assert_int_equal(id.id, before + 1);
        assert_int_equal(id.process, 0);
        assert_int_equal(id.snap_count, before + 100);
        assert_int_equal(rip_view_trail(&view, slot, entries, &count), RIP_OK);
        assert_int_equal(count, RIP_ENTRY_COUNT);
        assert_int_equal(entries[0].address, ring_builder_address(before + 100));
        assert_int_equal(rip_view_note(&view, slot, &note), RIP_OK);
        assert_memory_equal(note.text, "GET /ours", 9);
    }
    assert_int_equal(rip_view_process(&view, 0, &process), RIP_OK);
    assert_int_equal(process.pid, getpid());
    assert_string_equal(process.comm, "ours");
    assert_int_equal(rip_view_module(&view, 0, 0, &module), RIP_OK);
    assert_int_equal(module.bias, 0x800);
    assert_int_equal(module.build_id_bytes, 3);
    assert_memory_equal(module.path, "/bin/ours", 9);
    assert_int_equal(rip_view_module(&view, 0, 1, &module), RIP_NOT_LIVE);
    rip_view_info(&view, &ring);
    assert_true(ring.counts_ended && ring.ended_settled);
    assert_int_equal(ring.ended_count, 1);
    assert_int_equal(ring.ended_snap_count, 104);
    assert_int_equal(rip_view_ended(&view, 0, &ended, 1, &next), 1);
    assert_int_equal(ended.slot, 79);
    assert_no_secret();
}

/*
 * Ids of the process that ended before the process did are kept. Not kept: ids of other processes, ids from before the
 * process entered the record, and ids whose slot was reused.
 */
TEST(ids_that_had_ended, set_up, tear_down)
{
    enum { ENDED_BEFORE = 700, REUSED = 9, REUSED_BY_US = 12, EARLIER = 21 };
    static const uint32_t ids[] = {4, 7, 16, 19, 25, 28};
    struct rip_ended ended[RIP_ENDED_COUNT];
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_note_info note;
    struct rip_id_info id;
    uint64_t next;
    size_t count, entry_count;

    build((struct ring_geometry){.slot_capacity = 64, .note_stride_bytes = sizeof(struct rip_slot_note)});
    builder.ring->ended_count = ENDED_BEFORE; /* the log does not start at its first entry */
    ring_builder_process(&builder, OURS)->entered_boot_ns = 1000;
    for (uint32_t slot = 0; slot < 30; slot++) {
        add_id(slot, slot % 3 == 0);
        ring_builder_slot(&builder, slot)->registered_boot_ns = slot == EARLIER ? 999 : 1001;
        if (slot >= 2)
            ring_builder_end_id(&builder, slot);
    }
    ring_builder_add_id(&builder, REUSED, 99, 71, THEIRS, SECRET);
    ring_builder_add_id(&builder, REUSED_BY_US, 99, 71, OURS, "ours");
    ring_builder_slot(&builder, REUSED_BY_US)->registered_boot_ns = 1001;
    take();
    assert_int_equal(remains.id_count, 2);
    assert_int_equal(rip_view_live_count(&view), 2);
    count = rip_view_ended(&view, 0, ended, RIP_ENDED_COUNT, &next);
    assert_int_equal(count, COUNT_OF(ids));
    for (size_t i = 0; i < count; i++) {
        const uint32_t slot = ended[i].slot, generation = ended[i].generation;

        assert_int_equal(rip_view_ended_id(&view, slot, generation, &id), RIP_OK);
        assert_int_equal(id.id, ids[i]);
        assert_int_equal(id.process, 0);
        assert_int_equal(rip_view_ended_trail(&view, slot, generation, entries, &entry_count), RIP_OK);
        assert_int_equal(entry_count, RIP_ENTRY_COUNT);
        assert_int_equal(entries[0].address, ring_builder_address(id.id + 99));
        assert_int_equal(rip_view_ended_note(&view, slot, generation, &note), RIP_OK);
    }
    assert_no_secret();
}

/* Tables end within a word of the bitmap, at the end of one, at the end of a page, and after it. */
TEST(every_size_of_table, set_up, tear_down)
{
    static const uint32_t counts[] = {0, 1, 10, 11, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 9000};
    static const uint32_t strides[] = {RIP_SLOT_BYTES, RIP_SLOT_BYTES + 8, 4096};
    struct rip_sample sample;

    for (size_t i = 0; i < 2 * 3 * COUNT_OF(counts); i++) {
        const uint32_t ids = counts[i / 6];
        const struct ring_geometry geometry = {
            .slot_capacity = 2 * ids + 64,
            .slot_stride_bytes = strides[i / 2 % 3],
            .note_stride_bytes = i % 2 != 0 ? (uint32_t)sizeof(struct rip_slot_note) + 8 : 0,
        };
        struct rip_scan_position position = {0};
        struct rip_id_info id;
        uint32_t found = 0;

        if ((uint64_t)ids * (geometry.slot_stride_bytes + geometry.note_stride_bytes) > REMAINS_BYTES_MAX / 2)
            continue;
        build(geometry);
        for (uint32_t slot = 0; slot < 2 * ids; slot++)
            ring_builder_add_id(&builder, slot, slot, 0, slot % 2 == 0 ? THEIRS : OURS, "");
        take();
        assert_int_equal(remains.id_count, ids);
        for (; rip_view_scan(&view, &position, &sample, 1) == 1; found++) {
            assert_int_equal(sample.slot, found);
            assert_int_equal(rip_view_id(&view, found, &id), RIP_OK);
            assert_int_equal(id.id, 2 * found + 1);
        }
        assert_int_equal(found, ids);
    }
}

TEST(more_ids_than_fit, set_up, tear_down)
{
    enum { IDS = 90000 };

    build((struct ring_geometry){.slot_capacity = IDS});
    add_ids(IDS);
    take();
    assert_in_range(remains.id_count, 60000, IDS - 1);
    assert_int_equal(remains.id_count + remains.left_out_count, IDS);
    assert_int_equal(rip_view_live_count(&view), remains.id_count);
}

/* A sparse file costs its user nothing, but a copy of its slots would: the copy has a limit. */
TEST(slots_of_a_gigabyte, set_up, tear_down)
{
    for (uint32_t ids = 0; ids < 2; ids++) {
        build((struct ring_geometry){.slot_capacity = 2, .slot_stride_bytes = 1u << 30});
        add_ids(ids);
        assert_int_equal(remains_take(refreshed_ring(), OURS, &remains), -EFBIG);
    }
}

TEST(failures, set_up, tear_down)
{
    struct ring *ring;

    build((struct ring_geometry){.slot_capacity = 64});
    add_ids(1);
    ring = refreshed_ring();
    assert_int_equal(remains_take(ring, (uint32_t)ring->process_count, &remains), -ENOENT);
    cut_file("ring", RIP_PAGE_BYTES);
    assert_int_equal(remains_take(ring, OURS, &remains), -EIO);
    assert_null(remains.bytes);
}
