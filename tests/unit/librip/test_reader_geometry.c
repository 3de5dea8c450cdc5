/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_reader_geometry.c - hostile headers: each field alone is set to values that would make a trusting reader leave
 * the file. Images end at a page without access, so that reading one byte too far ends the program.
 */
#include <string.h>

#include "support/guarded_copy.h"
#include "support/ring_walk.h"
#include "unit/reader_test.h"

#define FIELD(name)                                                                                                    \
    {                                                                                                                  \
        offsetof(struct rip_ring, name), sizeof(((struct rip_ring *)NULL)->name), #name                                \
    }

/* Every header field that a reader uses, except those that identify the format. */
static const struct field {
    size_t offset;
    size_t bytes;
    const char *name;
} geometry_fields[] = {
    FIELD(header_bytes),       FIELD(file_bytes),           FIELD(slot_capacity),        FIELD(slot_stride_bytes),
    FIELD(slot_offset),        FIELD(entry_count),          FIELD(entry_offset_bytes),   FIELD(summary_offset),
    FIELD(live_offset),        FIELD(process_capacity),     FIELD(process_stride_bytes), FIELD(process_offset),
    FIELD(module_capacity),    FIELD(module_stride_bytes),  FIELD(module_offset),        FIELD(lock_holder_offset),
    FIELD(lock_life_offset),   FIELD(lock_takeover_offset), FIELD(process_high_water),   FIELD(module_high_water),
    FIELD(refused_full_count), FIELD(note_offset),          FIELD(note_stride_bytes),    FIELD(ended_count),
    FIELD(script_offset),      FIELD(script_stride_bytes),  FIELD(script_capacity),      FIELD(script_high_water),
    FIELD(compatible_flags),
};
enum { GEOMETRY_FIELDS = COUNT_OF(geometry_fields), SCRIPT_FIELDS_FIRST = GEOMETRY_FIELDS - 5 };

/* Whatever the header claims: the ring is refused, or all reads stay inside the bytes. */
static void walk_with_field(const struct field *field, uint64_t value)
{
    struct guarded_copy copy;
    struct ring_walk walk;

    guarded_copy_new(&copy, builder.bytes, builder.size_bytes);
    memcpy(copy.bytes + field->offset, &value, field->bytes);
    ring_walk(copy.bytes, builder.size_bytes, &walk);
    guarded_copy_free(&copy);
}

/* A ring with a note in each slot. Its last section ends less than a page before the end of the file. */
static void new_noted(void)
{
    const struct ring_geometry geometry = {
        .slot_capacity = 10, .process_capacity = 4, .module_capacity = 8, .note_stride_bytes = RIP_SLOT_NOTE_BYTES};

    ring_builder_new(&builder, &geometry);
    for (uint32_t slot = 0; slot < geometry.slot_capacity; slot++) {
        ring_builder_add_id(&builder, slot, slot + 1, slot + 1, 0, "noted");
        ring_builder_note(&builder, slot, "GET /", 5);
    }
}

/* A ring with a full script table. Its last section ends less than a page before the end of the file. */
static void new_scripted(void)
{
    const struct ring_geometry geometry = {
        .slot_capacity = 10, .process_capacity = 4, .module_capacity = 8, .script_capacity = 10};

    ring_builder_new(&builder, &geometry);
    for (uint32_t i = 0; i < geometry.script_capacity; i++)
        assert_int_equal(ring_builder_add_script(&builder, "order.rb", "place"), i);
}

static void new_sample(void)
{
    ring_builder_new_sample(&builder);
}

/* Tries many values in each field, beginning with field `first`. */
static void check_each_field(void (*make)(void), size_t first)
{
    make();
    for (size_t i = first; i < GEOMETRY_FIELDS; i++) {
        const struct field *field = &geometry_fields[i];
        uint64_t value = 0;

        memcpy(&value, builder.bytes + field->offset, field->bytes);
        for (int shift = 0; shift < 64; shift++) {
            walk_with_field(field, UINT64_C(1) << shift);
            walk_with_field(field, value + (UINT64_C(1) << shift));
            walk_with_field(field, value - (UINT64_C(1) << shift));
            walk_with_field(field, UINT64_MAX << shift);
        }
        walk_with_field(field, 0);
    }
    ring_builder_free(&builder);
}

TEST(no_header_field_leads_out_of_the_file)
{
    check_each_field(new_sample, 0);
    check_each_field(new_noted, 0);
    check_each_field(new_scripted, SCRIPT_FIELDS_FIRST);
}

/* A script entry may claim any lengths, and may be unpublished. */
TEST(hostile_script_entries_are_bounded, NULL, free_ring)
{
    struct rip_script_info info;
    struct guarded_copy copy;
    struct rip_script *last;
    struct ring_walk walk;

    new_scripted();
    last = ring_builder_script_at(&builder, 9);
    memset(last, 0xff, sizeof(*last));
    ring_builder_script_at(&builder, 3)->published = 0;
    ring_builder_script_at(&builder, 4)->file_bytes = 3;
    guarded_copy_new(&copy, builder.bytes, builder.size_bytes);
    assert_int_equal(ring_walk(copy.bytes, builder.size_bytes, &walk), RIP_OK);
    assert_int_equal(walk.scripts, 9);
    assert_int_equal(rip_view_open(&view, copy.bytes, builder.size_bytes), RIP_OK);
    assert_int_equal(rip_view_script(&view, RIP_PLACE_SCRIPT | UINT64_C(9) << 24, &info), RIP_OK);
    assert_int_equal(info.file_bytes, RIP_SCRIPT_FILE_BYTES);
    assert_int_equal(info.function_bytes, RIP_SCRIPT_FUNCTION_BYTES);
    assert_int_equal(rip_view_script(&view, RIP_PLACE_SCRIPT | UINT64_C(4) << 24, &info), RIP_OK);
    assert_memory_equal(info.file, "ord\0\0", 5);
    assert_int_equal(rip_view_script(&view, RIP_PLACE_SCRIPT | UINT64_C(10) << 24, &info), RIP_NOT_LIVE);
    guarded_copy_free(&copy);
}

/* The log may name any slot, generation and lap, and claim any number of entries. */
TEST(hostile_log_of_ended_ids_is_bounded, NULL, free_ring)
{
    static const uint64_t counts[] = {0, 1, 255, 256, 257, 1000, 64 * RIP_ENDED_COUNT, UINT64_MAX - 1, UINT64_MAX};

    new_noted();
    for (uint32_t slot = 0; slot < 10; slot += 2)
        ring_builder_end_id(&builder, slot);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        size_t right = 0;
        struct guarded_copy copy;
        struct rip_ring *ring;
        struct ring_walk walk;

        guarded_copy_new(&copy, builder.bytes, builder.size_bytes);
        ring = (void *)copy.bytes;
        ring->ended_count = counts[i];
        for (uint64_t k = 0; k < RIP_ENDED_COUNT; k++) {
            uint64_t number = counts[i] - 1 - k; /* wraps if fewer ids have ended */

            ring->ended[number % RIP_ENDED_COUNT] = UINT64_C(2) << RIP_ENDED_GENERATION_SHIFT |
                                                    (RIP_ENDED_LAP(number) + (k % 3 == 2)) << RIP_ENDED_LAP_SHIFT |
                                                    (k < 100 ? k : RIP_ENDED_SLOT_MASK - k);
            right += k < counts[i] && k < 10 && k % 3 != 2;
        }
        assert_int_equal(ring_walk(copy.bytes, builder.size_bytes, &walk), RIP_OK);
        assert_int_equal(walk.ended, right);
        guarded_copy_free(&copy);
    }
}

TEST(offset_and_stride_of_notes_are_checked, NULL, free_ring)
{
    static const struct {
        uint64_t offset;
        uint32_t stride_bytes;
        enum rip_status status;
        size_t notes;
    } cases[] = {
        {0, RIP_SLOT_NOTE_BYTES, RIP_OK, 10}, /* unchanged */
        {0, 0, RIP_DAMAGED, 0},
        {0, RIP_SLOT_NOTE_BYTES - 8, RIP_DAMAGED, 0},
        {0, RIP_SLOT_NOTE_BYTES + 4, RIP_DAMAGED, 0},
        {0, RIP_SLOT_NOTE_BYTES + 8, RIP_OK, 1}, /* as in a later release; then the other notes are elsewhere */
        {0, 416, RIP_DAMAGED, 0},                /* 10 notes exceed the file */
        {0, UINT32_MAX - 7, RIP_DAMAGED, 0},
        {8, RIP_SLOT_NOTE_BYTES, RIP_DAMAGED, 0},
        {RIP_PAGE_BYTES, RIP_SLOT_NOTE_BYTES, RIP_DAMAGED, 0},            /* beyond the end */
        {-(uint64_t)RIP_PAGE_BYTES, RIP_SLOT_NOTE_BYTES, RIP_DAMAGED, 0}, /* overlaps the slots */
    };
    struct ring_walk walk;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        new_noted();
        builder.ring->note_offset += cases[i].offset;
        builder.ring->note_stride_bytes = cases[i].stride_bytes;
        if (ring_walk(builder.bytes, builder.size_bytes, &walk) != cases[i].status || walk.notes != cases[i].notes)
            fail_msg("case %zu: status %s, %zu notes", i,
                     rip_status_text(open_bytes(builder.bytes, builder.size_bytes)), walk.notes);
        ring_builder_free(&builder);
    }
    new_noted();
    builder.ring->note_offset = 0; /* the stride is then ignored */
    builder.ring->note_stride_bytes = 1;
    assert_int_equal(ring_walk(builder.bytes, builder.size_bytes, &walk), RIP_OK);
    assert_int_equal(walk.notes, 0);
    assert_int_equal(walk.ids, 10);
}

/* One field of the sample ring, its value, and the expected status. */
static const struct {
    size_t field;
    uint64_t value;
    enum rip_status status;
} mutations[] = {
#define SET(name) offsetof(struct rip_ring, name)
    {SET(header_bytes), 0, RIP_DAMAGED},
    {SET(header_bytes), RIP_PAGE_BYTES - 8, RIP_DAMAGED},
    {SET(header_bytes), RIP_PAGE_BYTES + 8, RIP_DAMAGED}, /* overlaps the summary */
    {SET(file_bytes), 0, RIP_DAMAGED},
    {SET(file_bytes), RIP_PAGE_BYTES, RIP_DAMAGED},
    {SET(file_bytes), UINT32_MAX, RIP_TRUNCATED},
    {SET(slot_capacity), 0, RIP_DAMAGED},
    {SET(slot_capacity), 11, RIP_DAMAGED}, /* one more than the file holds: 10 * 384 rounded up is 4096 */
    {SET(slot_capacity), RIP_CAPACITY_MAX + 1, RIP_DAMAGED},
    {SET(slot_capacity), UINT32_MAX, RIP_DAMAGED},
    {SET(slot_stride_bytes), RIP_SLOT_BYTES - 8, RIP_DAMAGED},
    {SET(slot_stride_bytes), RIP_SLOT_BYTES + 4, RIP_DAMAGED},
    {SET(slot_stride_bytes), RIP_SLOT_BYTES + 8, RIP_OK}, /* as in a later minor format; 10 * 392 still fit */
    {SET(slot_offset), 0, RIP_DAMAGED},
    {SET(slot_offset), 8, RIP_DAMAGED},
    {SET(slot_offset), RIP_PAGE_BYTES, RIP_DAMAGED}, /* overlaps the summary */
    {SET(slot_offset), UINT32_MAX - 4095, RIP_DAMAGED},
    {SET(live_offset), 2 * RIP_PAGE_BYTES + 8, RIP_DAMAGED}, /* not at the start of its page */
    {SET(live_offset), 2 * RIP_PAGE_BYTES + 1, RIP_DAMAGED},
    {SET(entry_count), 0, RIP_DAMAGED},
    {SET(entry_count), 31, RIP_DAMAGED},
    {SET(entry_count), 16, RIP_OK},
    {SET(entry_count), 64, RIP_DAMAGED},
    {SET(entry_count), UINT32_C(1) << 31, RIP_DAMAGED},
    {SET(entry_offset_bytes), 0, RIP_DAMAGED},
    {SET(entry_offset_bytes), 56, RIP_DAMAGED}, /* overlaps the hot cache line */
    {SET(entry_offset_bytes), 60, RIP_DAMAGED},
    {SET(entry_offset_bytes), 72, RIP_DAMAGED}, /* overlaps the name */
    {SET(entry_offset_bytes), UINT32_MAX - 7, RIP_DAMAGED},
    {SET(process_capacity), 0, RIP_DAMAGED},
    {SET(process_capacity), 5, RIP_DAMAGED}, /* overlaps the modules */
    {SET(process_capacity), RIP_PROCESS_MAX + 1, RIP_DAMAGED},
    {SET(process_stride_bytes), RIP_PROCESS_BYTES - 8, RIP_DAMAGED},
    {SET(module_capacity), 0, RIP_DAMAGED},
    {SET(module_capacity), 9, RIP_DAMAGED}, /* overlaps the slots */
    {SET(module_capacity), RIP_MODULE_MAX + 1, RIP_DAMAGED},
    {SET(module_stride_bytes), RIP_MODULE_BYTES - 8, RIP_DAMAGED},
    {SET(lock_holder_offset), 0, RIP_DAMAGED},
    {SET(lock_holder_offset), RIP_PAGE_BYTES, RIP_DAMAGED}, /* inside the file */
#undef SET
};

TEST(header_fields_one_by_one)
{
    for (size_t i = 0; i < COUNT_OF(mutations); i++) {
        size_t bytes = 0;

        for (size_t field = 0; field < GEOMETRY_FIELDS; field++) {
            if (geometry_fields[field].offset == mutations[i].field)
                bytes = geometry_fields[field].bytes;
        }
        assert_int_not_equal(bytes, 0);
        ring_builder_new_sample(&builder);
        memcpy(builder.bytes + mutations[i].field, &mutations[i].value, bytes);
        if (open_bytes(builder.bytes, builder.size_bytes) != mutations[i].status)
            fail_msg("field at %zu = %llu: %s", mutations[i].field, (unsigned long long)mutations[i].value,
                     rip_status_text(open_bytes(builder.bytes, builder.size_bytes)));
        ring_builder_free(&builder);
    }
}

TEST(lock_ranges_may_not_wrap_or_meet, open_sample, free_ring)
{
    builder.ring->lock_life_offset = builder.ring->lock_holder_offset + 3; /* four processes: the ranges share a byte */
    expect_whole(RIP_DAMAGED);
    builder.ring->lock_life_offset = builder.ring->lock_holder_offset + 4;
    expect_whole(RIP_OK);
    builder.ring->lock_life_offset = (uint64_t)INT64_MAX - 1; /* the last byte has no off_t */
    expect_whole(RIP_DAMAGED);
    builder.ring->lock_life_offset = RIP_LOCK_LIFE_OFFSET;
    builder.ring->lock_takeover_offset = RIP_LOCK_LIFE_OFFSET + 1;
    expect_whole(RIP_DAMAGED);
}
