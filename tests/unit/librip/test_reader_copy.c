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

/* Ids -------------------------------------------------------------------------------------------------------------- */

TEST(an_id_is_copied_whole, set_up, free_ring)
{
    struct rip_id_info info;

    slot->kind = RIP_KIND_COROUTINE;
    slot->counter_bias = 200;
    slot->count = 1200;
    slot->deadline_ms = 250;
    ring_builder_idle(&builder, SLOT);
    assert_int_equal(rip_view_id(&view, SLOT, &info), RIP_OK);
    assert_int_equal(info.slot, SLOT);
    assert_int_equal(info.generation, 2);
    assert_int_equal(info.id, 77);
    assert_int_equal(info.tid, 4711);
    assert_int_equal(info.process, 2);
    assert_int_equal(info.kind, RIP_KIND_COROUTINE);
    assert_int_equal(info.idle, 1);
    assert_int_equal(info.name_bytes, 6);
    assert_memory_equal(info.name, "worker", 6);
    assert_int_equal(info.progress, 1200);
    assert_int_equal(info.snap_count, 1000);
    assert_int_equal(info.deadline_ms, 250);
    assert_int_equal(info.registered_boot_ns, 6000000000 + SLOT);
    slot->count = 199; /* below its initial value: hostile */
    assert_int_equal(rip_view_id(&view, SLOT, &info), RIP_OK);
    assert_int_equal(info.snap_count, 0);
    assert_int_equal(info.idle, 0);
}

TEST(hostile_name_lengths_are_bounded, set_up, free_ring)
{
    static const uint8_t lengths[] = {0, 1, 62, 63, 64, 255};
    struct rip_id_info info;

    memset(slot->name, 'n', sizeof(slot->name));
    for (size_t i = 0; i < sizeof(lengths); i++) {
        slot->name_bytes = lengths[i];
        assert_int_equal(rip_view_id(&view, SLOT, &info), RIP_OK);
        assert_int_equal(info.name_bytes, lengths[i] <= RIP_NAME_BYTES ? lengths[i] : RIP_NAME_BYTES);
        for (unsigned j = 0; j < RIP_NAME_BYTES; j++)
            assert_int_equal(info.name[j], j < info.name_bytes ? 'n' : 0);
    }
}

TEST(ids_that_are_not_live_are_not_returned, set_up, free_ring)
{
    static const uint32_t slots[] = {0, 2, 4, 64, 69, 70, 127, 128, 4096, UINT32_MAX - 63, UINT32_MAX};
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_last_info last, last_before;
    struct rip_id_info info, before;
    size_t count = 99;

    memset(&info, 0x5a, sizeof(info));
    memset(&last, 0x5a, sizeof(last));
    before = info;
    last_before = last;
    for (size_t i = 0; i < COUNT_OF(slots); i++) {
        assert_int_equal(rip_view_id(&view, slots[i], &info), RIP_NOT_LIVE);
        assert_int_equal(rip_view_trail(&view, slots[i], entries, &count), RIP_NOT_LIVE);
        assert_int_equal(rip_view_last(&view, slots[i], &last), RIP_NOT_LIVE);
    }
    ring_builder_remove_id(&builder, SLOT);
    assert_int_equal(rip_view_id(&view, SLOT, &info), RIP_NOT_LIVE);
    ring_builder_set_live(&builder, SLOT, true);
    slot->generation = 3;
    assert_int_equal(rip_view_id(&view, SLOT, &info), RIP_CHANGED);
    assert_int_equal(rip_view_trail(&view, SLOT, entries, &count), RIP_CHANGED);
    assert_int_equal(rip_view_last(&view, SLOT, &last), RIP_CHANGED);
    assert_memory_equal(&last, &last_before, sizeof(last));
    assert_memory_equal(&info, &before, sizeof(info));
    assert_int_equal(count, 99);
}

/* An ended id can be read until its slot is claimed again. */
TEST(ended_id_is_copied_until_its_slot_is_reused, set_up, free_ring)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    struct rip_id_info info = {.slot = 99};
    struct rip_note_info note;
    size_t count = 99;

    ring_builder_run_to(&builder, SLOT, 40);
    assert_int_equal(rip_view_ended_id(&view, SLOT, 2, &info), RIP_NOT_LIVE); /* the id is live */
    ring_builder_end_id(&builder, SLOT);
    assert_int_equal(rip_view_ended_id(&view, SLOT, 2, &info), RIP_OK);
    assert_int_equal(info.slot, SLOT);
    assert_int_equal(info.id, 77);
    assert_int_equal(info.snap_count, 40);
    assert_int_equal(rip_view_ended_trail(&view, SLOT, 2, entries, &count), RIP_OK);
    assert_int_equal(count, RIP_ENTRY_COUNT);
    assert_int_equal(entries[0].address, ring_builder_address(40));
    assert_int_equal(rip_view_ended_note(&view, SLOT, 2, &note), RIP_NOT_LIVE); /* the ring has no notes */

    info.slot = 99;
    count = 99;
    for (uint32_t generation = 0; generation < 6; generation++) {
        if (generation == 2)
            continue;
        assert_int_equal(rip_view_ended_id(&view, SLOT, generation, &info), RIP_NOT_LIVE);
        assert_int_equal(rip_view_ended_trail(&view, SLOT, generation, entries, &count), RIP_NOT_LIVE);
    }
    slot->generation = 3; /* the slot is being claimed */
    assert_int_equal(rip_view_ended_id(&view, SLOT, 2, &info), RIP_NOT_LIVE);
    assert_int_equal(rip_view_ended_id(&view, SLOT, 3, &info), RIP_CHANGED);
    assert_int_equal(rip_view_ended_trail(&view, SLOT, 3, entries, &count), RIP_CHANGED);
    assert_true(info.slot == 99 && count == 99);
}

/* Notes ------------------------------------------------------------------------------------------------------------ */

static const struct ring_geometry noted = {.slot_capacity = 128, .note_stride_bytes = RIP_SLOT_NOTE_BYTES};

TEST(a_note_is_copied_whole_or_not_at_all, NULL, free_ring)
{
    struct rip_note_info info = {.slot = 99};
    struct rip_slot_note *note;
    uint64_t check;

    ring_builder_new(&builder, &noted);
    ring_builder_add_id(&builder, SLOT, 77, 4711, 2, "worker");
    note = ring_builder_note_at(&builder, SLOT);
    open_view();
    assert_int_equal(rip_view_note(&view, SLOT, &info), RIP_NOT_LIVE);
    ring_builder_note(&builder, SLOT, "old", 3);
    ring_builder_note(&builder, SLOT, "GET /\xff", 6);
    assert_int_equal(rip_view_note(&view, SLOT, &info), RIP_OK);
    assert_int_equal(info.slot, SLOT);
    assert_int_equal(info.generation, 2);
    assert_int_equal(info.sequence, 2);
    assert_int_equal(info.text_bytes, 6);
    assert_memory_equal(info.text, "GET /\xff\0", 7);
    assert_int_equal(rip_view_note(&view, SLOT + 1, &info), RIP_NOT_LIVE);
    assert_int_equal(rip_view_note(&view, UINT32_MAX, &info), RIP_NOT_LIVE);
    check = note->check;
    for (size_t i = 0; i < offsetof(struct rip_slot_note, reserved_144); i++) {
        ((unsigned char *)note)[i] ^= 1; /* as a byte of another note */
        assert_int_equal(rip_view_note(&view, SLOT, &info), RIP_CHANGED);
        ((unsigned char *)note)[i] ^= 1;
    }
    assert_int_equal(note->check, check);
    ring_builder_slot(&builder, SLOT)->generation++;
    assert_int_equal(rip_view_note(&view, SLOT, &info), RIP_CHANGED);
    ring_builder_slot(&builder, SLOT)->generation++;
    ring_builder_note(&builder, SLOT, "", 0);
    assert_int_equal(rip_view_note(&view, SLOT, &info), RIP_NOT_LIVE);
    assert_int_equal(info.sequence, 2);
}

TEST(hostile_note_lengths_are_bounded, NULL, free_ring)
{
    static const uint8_t lengths[] = {1, 126, 127, 128, 255};
    unsigned char text[UINT8_MAX];
    struct rip_note_info info;

    memset(text, 'n', sizeof(text));
    ring_builder_new(&builder, &noted);
    ring_builder_add_id(&builder, SLOT, 77, 4711, 2, "worker");
    open_view();
    for (size_t i = 0; i < sizeof(lengths); i++) {
        ring_builder_note(&builder, SLOT, text, lengths[i]);
        assert_int_equal(rip_view_note(&view, SLOT, &info), RIP_OK);
        assert_int_equal(info.text_bytes, lengths[i] <= RIP_NOTE_BYTES ? lengths[i] : RIP_NOTE_BYTES);
        for (unsigned j = 0; j < RIP_NOTE_BYTES; j++)
            assert_int_equal(info.text[j], j < info.text_bytes ? 'n' : 0);
    }
}

/* Waits ------------------------------------------------------------------------------------------------------------ */

TEST(wait_is_copied_only_while_valid, set_up, free_ring)
{
    struct rip_wait_info info, before;

    memset(&info, 0x5a, sizeof(info));
    before = info;
    assert_int_equal(rip_view_wait(&view, 70, &info), RIP_NOT_LIVE);
    assert_int_equal(rip_view_wait(&view, UINT32_MAX, &info), RIP_NOT_LIVE);
    assert_int_equal(rip_view_wait(&view, SLOT + 1, &info), RIP_NOT_LIVE);
    assert_int_equal(rip_view_wait(&view, SLOT, &info), RIP_NOT_LIVE);
    ring_builder_idle(&builder, SLOT);
    assert_int_equal(rip_view_wait(&view, SLOT, &info), RIP_NOT_LIVE);
    slot->count = 300;
    slot->wait_tag = 45; /* 301 */
    slot->idle_mark = UINT64_C(1) << 62;
    assert_int_equal(rip_view_wait(&view, SLOT, &info), RIP_NOT_LIVE);
    slot->wait_tag = 44;
    slot->generation = 3;
    assert_int_equal(rip_view_wait(&view, SLOT, &info), RIP_CHANGED);
    assert_memory_equal(&info, &before, sizeof(info));

    slot->generation = 2;
    slot->wait_age_s = 255;
    slot->wait_flags = 0xff;
    slot->wait_owner = 4712;
    slot->wait_address = UINT64_MAX;
    assert_int_equal(rip_view_wait(&view, SLOT, &info), RIP_OK);
    assert_int_equal(info.id, 77);
    assert_int_equal(info.owner, 4712);
    assert_int_equal(info.flags, 0xff);
    assert_int_equal(info.progress, 300);
    assert_true(info.address == RIP_ENTRY_ADDRESS_MASK);
    assert_true(info.begun_mono_ns == (UINT64_C(1) << 62) - UINT64_C(255000000000));
    slot->idle_mark = 5; /* before the boot */
    assert_int_equal(rip_view_wait(&view, SLOT, &info), RIP_OK);
    assert_int_equal(info.begun_mono_ns, 0);
}

/* Processes and modules -------------------------------------------------------------------------------------------- */

TEST(a_process_is_copied_whole, set_up, free_ring)
{
    struct rip_process_info info;

    ring_builder_add_process(&builder, 2, 4690, 123456, "sixteen-bytes-xx");
    ring_builder_process(&builder, 2)->parent_pid = 12;
    assert_int_equal(rip_view_process(&view, 2, &info), RIP_OK);
    assert_int_equal(info.index, 2);
    assert_int_equal(info.state, RIP_PROCESS_LIVE);
    assert_int_equal(info.generation, 1);
    assert_int_equal(info.flags, RIP_PROCESS_HAS_HOLDER_LOCK | RIP_PROCESS_HAS_LIFE_LOCK);
    assert_int_equal(info.pid, 4690);
    assert_int_equal(info.parent_pid, 12);
    assert_int_equal(info.start_time_ticks, 123456);
    assert_int_equal(info.pid_namespace, 4026531836);
    assert_int_equal(info.entered_boot_ns, 5500000000);
    assert_int_equal(info.uid, 1000);
    assert_int_equal(info.module_count, 0);
    assert_memory_equal(info.comm, "sixteen-bytes-xx", RIP_COMM_BYTES);
}

TEST(process_states_and_bounds, set_up, free_ring)
{
    struct rip_process_info info;

    ring_builder_add_process(&builder, 2, 4690, 123456, "x");
    for (uint32_t one = 0; one < 8; one++) { /* 6 and 7: states of a later release */
        ring_builder_process(&builder, 2)->state = one;
        assert_int_equal(rip_view_process(&view, 2, &info),
                         one == RIP_PROCESS_FREE || one == RIP_PROCESS_CLAIMED ? RIP_NOT_LIVE : RIP_OK);
        assert_true(rip_view_process(&view, 2, &info) != RIP_OK || info.state == one);
    }
    ring_builder_process(&builder, 2)->module_count = UINT32_MAX;
    assert_int_equal(rip_view_process(&view, 2, &info), RIP_OK);
    assert_int_equal(info.module_count, RIP_PROCESS_MODULES);
    ring_builder_process(&builder, 3)->state = RIP_PROCESS_LIVE; /* above the high-water mark */
    assert_int_equal(rip_view_process(&view, 3, &info), RIP_NOT_LIVE);
    builder.ring->process_high_water = UINT32_MAX; /* hostile */
    assert_int_equal(rip_view_process(&view, 3, &info), RIP_OK);
    assert_int_equal(rip_view_process(&view, RIP_PROCESS_MIN, &info), RIP_NOT_LIVE);
    assert_int_equal(rip_view_process(&view, UINT32_MAX, &info), RIP_NOT_LIVE);
}

TEST(modules_are_found_by_process_and_number, set_up, free_ring)
{
    static const unsigned char build_id[RIP_BUILD_ID_BYTES] = {1, 2, 3};
    struct rip_module_info info;

    ring_builder_add_process(&builder, 0, 1, 1, "a");
    ring_builder_add_process(&builder, 1, 2, 2, "b");
    ring_builder_add_module(&builder, 0x1000, 0x2000, 0, "/bin/a", build_id, 20);
    ring_builder_add_module(&builder, 0x7000, 0x9000, 0x6000, "/lib/b", NULL, 0);
    ring_builder_module(&builder, 1)->flags = RIP_MODULE_PATH_TRUNCATED;
    ring_builder_link_module(&builder, 0, 0);
    ring_builder_link_module(&builder, 0, 1);
    ring_builder_link_module(&builder, 1, 1);

    assert_int_equal(rip_view_module(&view, 0, 0, &info), RIP_OK);
    assert_int_equal(info.start, 0x1000);
    assert_int_equal(info.end, 0x2000);
    assert_int_equal(info.build_id_bytes, 20);
    assert_memory_equal(info.build_id, build_id, RIP_BUILD_ID_BYTES);
    assert_int_equal(rip_view_module(&view, 1, 0, &info), RIP_OK);
    assert_int_equal(info.bias, 0x6000);
    assert_int_equal(info.flags, RIP_MODULE_PATH_TRUNCATED);
    assert_int_equal(info.build_id_bytes, 0);
    assert_int_equal(info.path_bytes, 6);
    assert_memory_equal(info.path, "/lib/b", 7); /* and zeros after it */
    assert_int_equal(rip_view_module(&view, 1, 1, &info), RIP_NOT_LIVE);
    assert_int_equal(rip_view_module(&view, 2, 0, &info), RIP_NOT_LIVE);
    ring_builder_process(&builder, 1)->state = RIP_PROCESS_EXITED; /* modules of a dead process stay readable */
    assert_int_equal(rip_view_module(&view, 1, 0, &info), RIP_OK);
    ring_builder_process(&builder, 1)->state = RIP_PROCESS_CLAIMED;
    assert_int_equal(rip_view_module(&view, 1, 0, &info), RIP_NOT_LIVE);
}

TEST(hostile_modules_stay_in_bounds, set_up, free_ring)
{
    struct rip_process *process;
    struct rip_module_info info;
    struct rip_module *module;

    ring_builder_add_process(&builder, 0, 1, 1, "a");
    ring_builder_add_module(&builder, 0x1000, 0x2000, 0, "/bin/a", "", 0);
    ring_builder_link_module(&builder, 0, 0);
    process = ring_builder_process(&builder, 0);
    module = ring_builder_module(&builder, 0);
    process->module_count = UINT32_MAX;
    assert_int_equal(rip_view_module(&view, 0, RIP_PROCESS_MODULES - 1, &info), RIP_OK);
    assert_int_equal(rip_view_module(&view, 0, RIP_PROCESS_MODULES, &info), RIP_NOT_LIVE);
    assert_int_equal(rip_view_module(&view, 0, UINT32_MAX, &info), RIP_NOT_LIVE);
    *ring_builder_module(&builder, 1) = *module;
    process->module_index[1] = 1; /* above the high-water mark */
    process->module_index[2] = UINT16_MAX;
    assert_int_equal(rip_view_module(&view, 0, 1, &info), RIP_NOT_LIVE);
    builder.ring->module_high_water = UINT32_MAX;
    assert_int_equal(rip_view_module(&view, 0, 1, &info), RIP_OK);
    ring_builder_module(&builder, 1)->end = 0; /* not published yet */
    assert_int_equal(rip_view_module(&view, 0, 1, &info), RIP_NOT_LIVE);
    assert_int_equal(rip_view_module(&view, 0, 2, &info), RIP_NOT_LIVE);
    module->path_bytes = UINT16_MAX;
    module->build_id_bytes = UINT8_MAX;
    assert_int_equal(rip_view_module(&view, 0, 0, &info), RIP_OK);
    assert_int_equal(info.path_bytes, RIP_MODULE_PATH_BYTES);
    assert_int_equal(info.build_id_bytes, RIP_BUILD_ID_BYTES);
    module->start = module->end;
    assert_int_equal(rip_view_module(&view, 0, 0, &info), RIP_NOT_LIVE);
}
