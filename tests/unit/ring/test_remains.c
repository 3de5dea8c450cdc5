/* SPDX-License-Identifier: Apache-2.0 */
/* test_remains.c - what a process left, as a ring of its own: ripd/ring/remains.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/sigbus.h"
#include "ring/remains.h"
#include "support/guarded_copy.h"
#include "support/ring_stage.h"
#include "support/test.h"

#define SECRET "of another process"

enum { OURS = 3, THEIRS = 5 }; /* records; that of the remains is 0 */

struct fixture {
    struct ring_stage stage;
    struct registry *registry;
    struct ring_builder builder;
    struct guarded_copy copy;
    struct remains remains;
    struct rip_view view; /* of the copy */
};

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    assert_non_null(fixture);
    ring_stage_open(&fixture->stage);
    *state = fixture;
    return 0;
}

static void forget(struct fixture *fixture)
{
    if (fixture->copy.mapping != NULL)
        guarded_copy_free(&fixture->copy);
    free(fixture->remains.bytes);
    fixture->remains = (struct remains){0};
    registry_free(fixture->registry);
    fixture->registry = NULL;
    if (fixture->builder.bytes != NULL)
        ring_stage_release(&fixture->builder);
    fixture->builder = (struct ring_builder){0};
    unlink(ring_stage_path(&fixture->stage, "ring"));
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    forget(fixture);
    ring_stage_close(&fixture->stage);
    free(fixture);
    return 0;
}

static void add_process(struct fixture *fixture, uint32_t record, const char *comm)
{
    struct rip_process *process;

    ring_builder_add_process(&fixture->builder, record, (uint32_t)getpid(), ring_stage_start_time(getpid()), comm);
    process = ring_builder_process(&fixture->builder, record);
    process->flags = 0;
    process->pid_namespace = ring_stage_pid_namespace();
}

/* An empty ring with two processes. */
static void build(struct fixture *fixture, const struct ring_geometry *geometry)
{
    forget(fixture);
    ring_stage_build(&fixture->stage, "ring", geometry, &fixture->builder);
    add_process(fixture, OURS, "ours");
    add_process(fixture, THEIRS, SECRET);
}

static struct ring *refreshed(struct fixture *fixture)
{
    const char *directories[1] = {fixture->stage.directory};
    const struct registry_options options = {.directories = directories, .directory_count = 1, .proc_path = "/proc"};
    struct ring **rings;
    size_t count;

    assert_int_equal(sigbus_install(), 0); /* cmocka sets a handler of its own before each test */
    assert_int_equal(registry_new(&fixture->registry, &options), 0);
    registry_refresh(fixture->registry, 1000000000);
    rings = registry_rings(fixture->registry, &count);
    assert_int_equal(count, 1);
    return rings[0];
}

/* The remains of our process, read where one byte too far is a fault. */
static void take(struct fixture *fixture)
{
    assert_int_equal(remains_take(refreshed(fixture), OURS, &fixture->remains), 0);
    assert_true(fixture->remains.byte_count <= REMAINS_BYTES_MAX);
    guarded_copy_new(&fixture->copy, fixture->remains.bytes, fixture->remains.byte_count);
    assert_int_equal(rip_view_open(&fixture->view, fixture->copy.bytes, fixture->remains.byte_count), RIP_OK);
}

static bool contains(const struct fixture *fixture, const char *text)
{
    return memmem(fixture->remains.bytes, fixture->remains.byte_count, text, strlen(text)) != NULL;
}

TEST(ids_trails_notes_and_modules, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct ring_geometry geometry = {.slot_capacity = 320, .note_stride_bytes = sizeof(struct rip_slot_note)};
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_process_info process;
    struct rip_module_info module;
    struct rip_note_info note;
    struct rip_ring_info ring;
    struct rip_ended ended;
    struct rip_id_info id;
    uint64_t next;
    size_t count;

    build(fixture, &geometry);
    for (uint32_t slot = 0; slot < 320; slot += 2) {
        ring_builder_add_id(&fixture->builder, slot, slot + 1, 71, slot % 4 == 0 ? OURS : THEIRS,
                            slot % 4 == 0 ? "ours" : SECRET);
        ring_builder_run_to(&fixture->builder, slot, slot + 100);
        ring_builder_note(&fixture->builder, slot, slot % 4 == 0 ? "GET /ours" : SECRET,
                          slot % 4 == 0 ? 9 : sizeof(SECRET) - 1);
    }
    ring_builder_end_id(&fixture->builder, 4);
    ring_builder_end_id(&fixture->builder, 6);
    ring_builder_add_id(&fixture->builder, 6, 7, 71, THEIRS, SECRET);
    ring_builder_link_module(&fixture->builder, THEIRS,
                             ring_builder_add_module(&fixture->builder, 1, 2, 0, SECRET, NULL, 0));
    ring_builder_link_module(
        &fixture->builder, OURS,
        ring_builder_add_module(&fixture->builder, 0x1000, 0x9000, 0x800, "/bin/ours", "\1\2\3", 3));
    take(fixture);
    assert_int_equal(fixture->remains.id_count, 79);
    assert_int_equal(fixture->remains.left_out_count, 0);
    assert_int_equal(rip_view_live_count(&fixture->view), 79);
    for (uint32_t slot = 0; slot < 79; slot++) {
        const uint32_t before = slot == 0 ? 0 : 4 * (slot + 1);

        assert_int_equal(rip_view_id(&fixture->view, slot, &id), RIP_OK);
        assert_int_equal(id.id, before + 1);
        assert_int_equal(id.process, 0);
        assert_int_equal(id.snap_count, before + 100);
        assert_int_equal(rip_view_trail(&fixture->view, slot, entries, &count), RIP_OK);
        assert_int_equal(count, RIP_ENTRY_COUNT);
        assert_int_equal(entries[0].address, ring_builder_address(before + 100));
        assert_int_equal(rip_view_note(&fixture->view, slot, &note), RIP_OK);
        assert_memory_equal(note.text, "GET /ours", 9);
    }
    assert_int_equal(rip_view_process(&fixture->view, 0, &process), RIP_OK);
    assert_int_equal(process.pid, getpid());
    assert_string_equal(process.comm, "ours");
    assert_int_equal(rip_view_module(&fixture->view, 0, 0, &module), RIP_OK);
    assert_int_equal(module.bias, 0x800);
    assert_int_equal(module.build_id_bytes, 3);
    assert_memory_equal(module.path, "/bin/ours", 9);
    assert_int_equal(rip_view_module(&fixture->view, 0, 1, &module), RIP_NOT_LIVE);
    rip_view_info(&fixture->view, &ring);
    assert_true(ring.counts_ended && ring.ended_settled);
    assert_int_equal(ring.ended_count, 1);
    assert_int_equal(ring.ended_snap_count, 104);
    assert_int_equal(rip_view_ended(&fixture->view, 0, &ended, 1, &next), 1);
    assert_int_equal(ended.slot, 79);
    assert_false(contains(fixture, SECRET));
}

/* Ids that ended before it did, but not those of others, nor of who had the record before, nor where another id is. */
TEST(ids_that_had_ended, set_up, tear_down)
{
    enum { ENDED_BEFORE = 700, REUSED = 9, EARLIER = 21 };
    struct fixture *fixture = *state;
    const struct ring_geometry geometry = {.slot_capacity = 64, .note_stride_bytes = sizeof(struct rip_slot_note)};
    struct rip_ended ended[RIP_ENDED_COUNT];
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_note_info note;
    struct rip_id_info id;
    uint64_t next;
    size_t count, entry_count;

    build(fixture, &geometry);
    fixture->builder.ring->ended_count = ENDED_BEFORE; /* the log is not at its begin */
    ring_builder_process(&fixture->builder, OURS)->entered_boot_ns = 1000;
    for (uint32_t slot = 0; slot < 30; slot++) {
        ring_builder_add_id(&fixture->builder, slot, slot + 1, 71, slot % 3 == 0 ? OURS : THEIRS,
                            slot % 3 == 0 ? "ours" : SECRET);
        ring_builder_slot(&fixture->builder, slot)->registered_boot_ns = slot == EARLIER ? 999 : 1001;
        ring_builder_run_to(&fixture->builder, slot, slot + 100);
        ring_builder_note(&fixture->builder, slot, "GET /ours", 9);
        if (slot >= 2)
            ring_builder_end_id(&fixture->builder, slot);
    }
    ring_builder_add_id(&fixture->builder, REUSED, 99, 71, THEIRS, SECRET);
    take(fixture);
    assert_int_equal(fixture->remains.id_count, 1);
    assert_int_equal(rip_view_live_count(&fixture->view), 1);
    count = rip_view_ended(&fixture->view, 0, ended, RIP_ENDED_COUNT, &next);
    assert_int_equal(count, 7); /* 3, 6, 12, 15, 18, 24 and 27 */
    for (size_t i = 0; i < count; i++) {
        static const uint32_t ids[] = {4, 7, 13, 16, 19, 25, 28};

        assert_int_equal(rip_view_ended_id(&fixture->view, ended[i].slot, ended[i].generation, &id), RIP_OK);
        assert_int_equal(id.id, ids[i]);
        assert_int_equal(id.process, 0);
        assert_int_equal(
            rip_view_ended_trail(&fixture->view, ended[i].slot, ended[i].generation, entries, &entry_count), RIP_OK);
        assert_int_equal(entry_count, RIP_ENTRY_COUNT);
        assert_int_equal(entries[0].address, ring_builder_address(id.id + 99));
        assert_int_equal(rip_view_ended_note(&fixture->view, ended[i].slot, ended[i].generation, &note), RIP_OK);
    }
    assert_false(contains(fixture, SECRET));
}

/* Wherever a table ends: in the middle of a word of the bitmap, at one, at a page, behind it. */
TEST(every_size_of_table, set_up, tear_down)
{
    static const uint32_t counts[] = {0, 1, 10, 11, 63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 9000};
    static const uint32_t strides[] = {RIP_SLOT_BYTES, RIP_SLOT_BYTES + 8, 4096};
    struct fixture *fixture = *state;
    struct rip_sample samples[16];

    for (size_t i = 0; i < 2 * 3 * sizeof(counts) / sizeof(counts[0]); i++) {
        const uint32_t ids = counts[i / 6];
        const struct ring_geometry geometry = {
            .slot_capacity = 2 * ids + 64,
            .slot_stride_bytes = strides[i / 2 % 3],
            .note_stride_bytes = i % 2 != 0 ? (uint32_t)sizeof(struct rip_slot_note) + 8 : 0,
        };
        struct rip_scan_position position = {0};
        uint32_t found = 0;
        size_t count;

        if ((uint64_t)ids * (geometry.slot_stride_bytes + geometry.note_stride_bytes) > REMAINS_BYTES_MAX / 2)
            continue;
        build(fixture, &geometry);
        for (uint32_t slot = 0; slot < 2 * ids; slot++)
            ring_builder_add_id(&fixture->builder, slot, slot, 0, slot % 2 == 0 ? THEIRS : OURS, "");
        take(fixture);
        assert_int_equal(fixture->remains.id_count, ids);
        do {
            count = rip_view_scan(&fixture->view, &position, samples, 16);
            for (size_t k = 0; k < count; k++) {
                struct rip_id_info id;

                assert_int_equal(samples[k].slot, found);
                assert_int_equal(rip_view_id(&fixture->view, samples[k].slot, &id), RIP_OK);
                assert_int_equal(id.id, 2 * found + 1);
                found++;
            }
        } while (count == 16);
        assert_int_equal(found, ids);
    }
}

TEST(more_ids_than_there_is_room_for, set_up, tear_down)
{
    enum { IDS = 90000 };
    struct fixture *fixture = *state;
    const struct ring_geometry geometry = {.slot_capacity = IDS};

    build(fixture, &geometry);
    for (uint32_t slot = 0; slot < IDS; slot++)
        ring_builder_add_id(&fixture->builder, slot, slot, 0, OURS, "");
    take(fixture);
    assert_in_range(fixture->remains.id_count, 60000, IDS - 1);
    assert_int_equal(fixture->remains.id_count + fixture->remains.left_out_count, IDS);
    assert_int_equal(rip_view_live_count(&fixture->view), fixture->remains.id_count);
}

/* Sparse, and so nothing to who made it: what is copied of it has a limit all the same. */
TEST(slots_of_a_gigabyte, set_up, tear_down)
{
    struct fixture *fixture = *state;

    for (uint32_t ids = 0; ids < 2; ids++) {
        const struct ring_geometry geometry = {.slot_capacity = 2, .slot_stride_bytes = 1u << 30};

        build(fixture, &geometry);
        for (uint32_t slot = 0; slot < ids; slot++)
            ring_builder_add_id(&fixture->builder, slot, slot, 0, OURS, "");
        assert_int_equal(remains_take(refreshed(fixture), OURS, &fixture->remains), -EFBIG);
    }
}

TEST(what_cannot_be_taken, set_up, tear_down)
{
    struct fixture *fixture = *state;
    const struct ring_geometry geometry = {.slot_capacity = 64};
    struct ring *ring;

    build(fixture, &geometry);
    ring_builder_add_id(&fixture->builder, 1, 1, 0, OURS, "");
    ring = refreshed(fixture);
    assert_int_equal(remains_take(ring, (uint32_t)ring->process_count, &fixture->remains), -ENOENT);
    assert_int_equal(truncate(ring_stage_path(&fixture->stage, "ring"), RIP_PAGE_BYTES), 0);
    assert_int_equal(remains_take(ring, OURS, &fixture->remains), -EIO);
    assert_null(fixture->remains.bytes);
}
