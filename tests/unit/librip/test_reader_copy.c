/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_copy.c - copies of one id, process or module: exactly what the ring holds. Trails are in
 * test_reader_trail.c.
 */
#include <string.h>

#include "unit/reader_test.h"

enum { SLOT = 3 };

static struct rip_slot *slot; /* live, without snaps */

static int set_up(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = 70, .module_capacity = 8};

    (void)state;
    ring_builder_new(&builder, &geometry);
    ring_builder_add_id(&builder, SLOT, 77, 4711, 2, "worker");
    slot = ring_builder_slot(&builder, SLOT);
    open_view();
    return 0;
}

/* The last result of each function below, all of which check the status of a read. */
static struct rip_id_info id_info;
static struct rip_wait_info wait_info;
static struct rip_note_info note_info;
static struct rip_process_info process_info;
static struct rip_module_info module_info;

static void expect_id(uint32_t index, enum rip_status status)
{
    assert_int_equal(rip_view_id(&view, index, &id_info), status);
}

static struct rip_entry entries[RIP_ENTRY_COUNT];
static size_t entry_count;

/* Of an ended id, both the id and its trail. */
static void expect_ended(uint32_t index, uint32_t generation, enum rip_status status)
{
    assert_int_equal(rip_view_ended_id(&view, index, generation, &id_info), status);
    assert_int_equal(rip_view_ended_trail(&view, index, generation, entries, &entry_count), status);
}

static void expect_wait(uint32_t index, enum rip_status status)
{
    assert_int_equal(rip_view_wait(&view, index, &wait_info), status);
}

static void expect_note(uint32_t index, enum rip_status status)
{
    assert_int_equal(rip_view_note(&view, index, &note_info), status);
}

static void expect_process(uint32_t index, enum rip_status status)
{
    assert_int_equal(rip_view_process(&view, index, &process_info), status);
}

static void expect_module(uint32_t index, uint32_t nth, enum rip_status status)
{
    assert_int_equal(rip_view_module(&view, index, nth, &module_info), status);
}

/* Ids -------------------------------------------------------------------------------------------------------------- */

TEST(an_id_is_copied_whole, set_up, free_ring)
{
    slot->kind = RIP_KIND_COROUTINE;
    slot->counter_bias = 200;
    slot->count = 1200;
    slot->deadline_ms = 250;
    ring_builder_idle(&builder, SLOT);
    expect_id(SLOT, RIP_OK);
    assert_int_equal(id_info.slot, SLOT);
    assert_int_equal(id_info.generation, 2);
    assert_int_equal(id_info.id, 77);
    assert_int_equal(id_info.tid, 4711);
    assert_int_equal(id_info.process, 2);
    assert_int_equal(id_info.kind, RIP_KIND_COROUTINE);
    assert_int_equal(id_info.idle, 1);
    assert_int_equal(id_info.name_bytes, 6);
    assert_memory_equal(id_info.name, "worker", 6);
    assert_int_equal(id_info.progress, 1200);
    assert_int_equal(id_info.snap_count, 1000);
    assert_int_equal(id_info.deadline_ms, 250);
    assert_int_equal(id_info.registered_boot_ns, 6000000000 + SLOT);
    slot->count = 199; /* below its initial value: hostile */
    expect_id(SLOT, RIP_OK);
    assert_int_equal(id_info.snap_count, 0);
    assert_int_equal(id_info.idle, 0);
}

TEST(hostile_name_lengths_are_bounded, set_up, free_ring)
{
    static const uint8_t lengths[] = {0, 1, 62, 63, 64, 255};

    memset(slot->name, 'n', sizeof(slot->name));
    for (size_t i = 0; i < sizeof(lengths); i++) {
        slot->name_bytes = lengths[i];
        expect_id(SLOT, RIP_OK);
        assert_int_equal(id_info.name_bytes, lengths[i] <= RIP_NAME_BYTES ? lengths[i] : RIP_NAME_BYTES);
        for (unsigned j = 0; j < RIP_NAME_BYTES; j++)
            assert_int_equal(id_info.name[j], j < id_info.name_bytes ? 'n' : 0);
    }
}

TEST(ids_that_are_not_live_are_not_returned, set_up, free_ring)
{
    static const uint32_t slots[] = {0, 2, 4, 64, 69, 70, 127, 128, 4096, UINT32_MAX - 63, UINT32_MAX};
    struct rip_last_info last, last_before;
    struct rip_id_info before;

    memset(&id_info, 0x5a, sizeof(id_info));
    memset(&last, 0x5a, sizeof(last));
    entry_count = 99;
    before = id_info;
    last_before = last;
    for (size_t i = 0; i < COUNT_OF(slots); i++) {
        expect_id(slots[i], RIP_NOT_LIVE);
        assert_int_equal(rip_view_trail(&view, slots[i], entries, &entry_count), RIP_NOT_LIVE);
        assert_int_equal(rip_view_last(&view, slots[i], &last), RIP_NOT_LIVE);
    }
    ring_builder_remove_id(&builder, SLOT);
    expect_id(SLOT, RIP_NOT_LIVE);
    ring_builder_set_live(&builder, SLOT, true);
    slot->generation = 3;
    expect_id(SLOT, RIP_CHANGED);
    assert_int_equal(rip_view_trail(&view, SLOT, entries, &entry_count), RIP_CHANGED);
    assert_int_equal(rip_view_last(&view, SLOT, &last), RIP_CHANGED);
    assert_memory_equal(&last, &last_before, sizeof(last));
    assert_memory_equal(&id_info, &before, sizeof(id_info));
    assert_int_equal(entry_count, 99);
}

/* An ended id can be read until its slot is claimed again. */
TEST(ended_id_is_copied_until_its_slot_is_reused, set_up, free_ring)
{
    ring_builder_run_to(&builder, SLOT, 40);
    expect_ended(SLOT, 2, RIP_NOT_LIVE); /* the id is live */
    expect_ended(70, 2, RIP_NOT_LIVE);   /* no such slot */
    expect_ended(UINT32_MAX, 2, RIP_NOT_LIVE);
    ring_builder_end_id(&builder, SLOT);
    expect_ended(SLOT, 2, RIP_OK);
    assert_int_equal(id_info.slot, SLOT);
    assert_int_equal(id_info.id, 77);
    assert_int_equal(id_info.snap_count, 40);
    assert_int_equal(entry_count, RIP_ENTRY_COUNT);
    assert_int_equal(entries[0].address, ring_builder_address(40));
    assert_int_equal(rip_view_ended_note(&view, SLOT, 2, &note_info), RIP_NOT_LIVE); /* the ring has no notes */

    id_info.slot = 99;
    entry_count = 99;
    for (uint32_t generation = 0; generation < 6; generation++) {
        if (generation != 2)
            expect_ended(SLOT, generation, RIP_NOT_LIVE);
    }
    slot->generation = 3; /* the slot is being claimed */
    expect_ended(SLOT, 2, RIP_NOT_LIVE);
    expect_ended(SLOT, 3, RIP_CHANGED);
    assert_true(id_info.slot == 99 && entry_count == 99);
}

/* Notes ------------------------------------------------------------------------------------------------------------ */

static int set_up_notes(void **state)
{
    const struct ring_geometry geometry = {.slot_capacity = 128, .note_stride_bytes = RIP_SLOT_NOTE_BYTES};

    (void)state;
    ring_builder_new(&builder, &geometry);
    ring_builder_add_id(&builder, SLOT, 77, 4711, 2, "worker");
    open_view();
    return 0;
}

TEST(a_note_is_copied_whole_or_not_at_all, set_up_notes, free_ring)
{
    struct rip_slot_note *note = ring_builder_note_at(&builder, SLOT);
    uint64_t check;

    expect_note(SLOT, RIP_NOT_LIVE);
    ring_builder_note(&builder, SLOT, "old", 3);
    ring_builder_note(&builder, SLOT, "GET /\xff", 6);
    expect_note(SLOT, RIP_OK);
    assert_int_equal(note_info.slot, SLOT);
    assert_int_equal(note_info.generation, 2);
    assert_int_equal(note_info.sequence, 2);
    assert_int_equal(note_info.text_bytes, 6);
    assert_memory_equal(note_info.text, "GET /\xff\0", 7);
    expect_note(SLOT + 1, RIP_NOT_LIVE);
    expect_note(UINT32_MAX, RIP_NOT_LIVE);
    check = note->check;
    for (size_t i = 0; i < offsetof(struct rip_slot_note, reserved_144); i++) {
        ((unsigned char *)note)[i] ^= 1; /* as a byte of another note */
        expect_note(SLOT, RIP_CHANGED);
        ((unsigned char *)note)[i] ^= 1;
    }
    assert_int_equal(note->check, check);
    ring_builder_slot(&builder, SLOT)->generation++;
    expect_note(SLOT, RIP_CHANGED);
    ring_builder_slot(&builder, SLOT)->generation++;
    ring_builder_note(&builder, SLOT, "", 0);
    expect_note(SLOT, RIP_NOT_LIVE);
    assert_int_equal(note_info.sequence, 2);
}

TEST(hostile_note_lengths_are_bounded, set_up_notes, free_ring)
{
    static const uint8_t lengths[] = {1, 126, 127, 128, 255};
    unsigned char text[UINT8_MAX];

    memset(text, 'n', sizeof(text));
    for (size_t i = 0; i < sizeof(lengths); i++) {
        ring_builder_note(&builder, SLOT, text, lengths[i]);
        expect_note(SLOT, RIP_OK);
        assert_int_equal(note_info.text_bytes, lengths[i] <= RIP_NOTE_BYTES ? lengths[i] : RIP_NOTE_BYTES);
        for (unsigned j = 0; j < RIP_NOTE_BYTES; j++)
            assert_int_equal(note_info.text[j], j < note_info.text_bytes ? 'n' : 0);
    }
}

/* Waits ------------------------------------------------------------------------------------------------------------ */

TEST(wait_is_copied_only_while_valid, set_up, free_ring)
{
    struct rip_wait_info before;

    memset(&wait_info, 0x5a, sizeof(wait_info));
    before = wait_info;
    expect_wait(70, RIP_NOT_LIVE);
    expect_wait(UINT32_MAX, RIP_NOT_LIVE);
    expect_wait(SLOT + 1, RIP_NOT_LIVE);
    expect_wait(SLOT, RIP_NOT_LIVE);
    ring_builder_idle(&builder, SLOT);
    expect_wait(SLOT, RIP_NOT_LIVE);
    slot->count = 300;
    slot->wait_tag = 45; /* 301 */
    slot->idle_mark = UINT64_C(1) << 62;
    expect_wait(SLOT, RIP_NOT_LIVE);
    slot->wait_tag = 44;
    slot->generation = 3;
    expect_wait(SLOT, RIP_CHANGED);
    assert_memory_equal(&wait_info, &before, sizeof(wait_info));

    slot->generation = 2;
    slot->wait_age_s = 255;
    slot->wait_flags = 0xff;
    slot->wait_owner = 4712;
    slot->wait_address = UINT64_MAX;
    expect_wait(SLOT, RIP_OK);
    assert_int_equal(wait_info.id, 77);
    assert_int_equal(wait_info.owner, 4712);
    assert_int_equal(wait_info.flags, 0xff);
    assert_int_equal(wait_info.progress, 300);
    assert_true(wait_info.address == RIP_ENTRY_ADDRESS_MASK);
    assert_true(wait_info.begun_mono_ns == (UINT64_C(1) << 62) - UINT64_C(255000000000));
    slot->idle_mark = 5; /* before the boot */
    expect_wait(SLOT, RIP_OK);
    assert_int_equal(wait_info.begun_mono_ns, 0);
}

/* Processes and modules -------------------------------------------------------------------------------------------- */

TEST(a_process_is_copied_whole, set_up, free_ring)
{
    ring_builder_add_process(&builder, 2, 4690, 123456, "sixteen-bytes-xx");
    ring_builder_process(&builder, 2)->parent_pid = 12;
    expect_process(2, RIP_OK);
    assert_int_equal(process_info.index, 2);
    assert_int_equal(process_info.state, RIP_PROCESS_LIVE);
    assert_int_equal(process_info.generation, 1);
    assert_int_equal(process_info.flags, RIP_PROCESS_HAS_HOLDER_LOCK | RIP_PROCESS_HAS_LIFE_LOCK);
    assert_int_equal(process_info.pid, 4690);
    assert_int_equal(process_info.parent_pid, 12);
    assert_int_equal(process_info.start_time_ticks, 123456);
    assert_int_equal(process_info.pid_namespace, 4026531836);
    assert_int_equal(process_info.entered_boot_ns, 5500000000);
    assert_int_equal(process_info.uid, 1000);
    assert_int_equal(process_info.module_count, 0);
    assert_memory_equal(process_info.comm, "sixteen-bytes-xx", RIP_COMM_BYTES);
}

TEST(process_states_and_bounds, set_up, free_ring)
{
    ring_builder_add_process(&builder, 2, 4690, 123456, "x");
    for (uint32_t one = 0; one < 8; one++) { /* 6 and 7: states of a later release */
        ring_builder_process(&builder, 2)->state = one;
        expect_process(2, one == RIP_PROCESS_FREE || one == RIP_PROCESS_CLAIMED ? RIP_NOT_LIVE : RIP_OK);
        assert_true(rip_view_process(&view, 2, &process_info) != RIP_OK || process_info.state == one);
    }
    ring_builder_process(&builder, 2)->module_count = UINT32_MAX;
    expect_process(2, RIP_OK);
    assert_int_equal(process_info.module_count, RIP_PROCESS_MODULES);
    ring_builder_process(&builder, 3)->state = RIP_PROCESS_LIVE; /* above the high-water mark */
    expect_process(3, RIP_NOT_LIVE);
    builder.ring->process_high_water = UINT32_MAX; /* hostile */
    expect_process(3, RIP_OK);
    expect_process(RIP_PROCESS_MIN, RIP_NOT_LIVE);
    expect_process(UINT32_MAX, RIP_NOT_LIVE);
}

TEST(modules_are_found_by_process_and_number, set_up, free_ring)
{
    static const unsigned char build_id[RIP_BUILD_ID_BYTES] = {1, 2, 3};

    ring_builder_add_process(&builder, 0, 1, 1, "a");
    ring_builder_add_process(&builder, 1, 2, 2, "b");
    ring_builder_add_module(&builder, 0x1000, 0x2000, 0, "/bin/a", build_id, 20);
    ring_builder_add_module(&builder, 0x7000, 0x9000, 0x6000, "/lib/b", NULL, 0);
    ring_builder_module(&builder, 1)->flags = RIP_MODULE_PATH_TRUNCATED;
    ring_builder_link_module(&builder, 0, 0);
    ring_builder_link_module(&builder, 0, 1);
    ring_builder_link_module(&builder, 1, 1);

    expect_module(0, 0, RIP_OK);
    assert_int_equal(module_info.start, 0x1000);
    assert_int_equal(module_info.end, 0x2000);
    assert_int_equal(module_info.build_id_bytes, 20);
    assert_memory_equal(module_info.build_id, build_id, RIP_BUILD_ID_BYTES);
    expect_module(1, 0, RIP_OK);
    assert_int_equal(module_info.bias, 0x6000);
    assert_int_equal(module_info.flags, RIP_MODULE_PATH_TRUNCATED);
    assert_int_equal(module_info.build_id_bytes, 0);
    assert_int_equal(module_info.path_bytes, 6);
    assert_memory_equal(module_info.path, "/lib/b", 7); /* and zeros after it */
    expect_module(1, 1, RIP_NOT_LIVE);
    expect_module(2, 0, RIP_NOT_LIVE);
    ring_builder_process(&builder, 1)->state = RIP_PROCESS_EXITED; /* modules of a dead process stay readable */
    expect_module(1, 0, RIP_OK);
    ring_builder_process(&builder, 1)->state = RIP_PROCESS_CLAIMED;
    expect_module(1, 0, RIP_NOT_LIVE);
}

TEST(hostile_modules_stay_in_bounds, set_up, free_ring)
{
    struct rip_process *process;
    struct rip_module *module;

    ring_builder_add_process(&builder, 0, 1, 1, "a");
    ring_builder_add_module(&builder, 0x1000, 0x2000, 0, "/bin/a", "", 0);
    ring_builder_link_module(&builder, 0, 0);
    process = ring_builder_process(&builder, 0);
    module = ring_builder_module(&builder, 0);
    process->module_count = UINT32_MAX;
    expect_module(0, RIP_PROCESS_MODULES - 1, RIP_OK);
    expect_module(0, RIP_PROCESS_MODULES, RIP_NOT_LIVE);
    expect_module(0, UINT32_MAX, RIP_NOT_LIVE);
    *ring_builder_module(&builder, 1) = *module;
    process->module_index[1] = 1; /* above the high-water mark */
    process->module_index[2] = UINT16_MAX;
    expect_module(0, 1, RIP_NOT_LIVE);
    builder.ring->module_high_water = UINT32_MAX;
    expect_module(0, 1, RIP_OK);
    ring_builder_module(&builder, 1)->end = 0; /* not published yet */
    expect_module(0, 1, RIP_NOT_LIVE);
    expect_module(0, 2, RIP_NOT_LIVE);
    module->path_bytes = UINT16_MAX;
    module->build_id_bytes = UINT8_MAX;
    expect_module(0, 0, RIP_OK);
    assert_int_equal(module_info.path_bytes, RIP_MODULE_PATH_BYTES);
    assert_int_equal(module_info.build_id_bytes, RIP_BUILD_ID_BYTES);
    module->start = module->end;
    expect_module(0, 0, RIP_NOT_LIVE);
}
