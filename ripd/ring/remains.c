/* SPDX-License-Identifier: Apache-2.0 */
/* remains.c - see remains.h. Touches the mapping of one ring. */
#include "ring/remains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/modules.h"
#include "util/array.h"

enum {
    WORD_BITS = 64,
    SAMPLES = 256,
};

/* State while the remains are made. */
struct builder {
    struct mapping *mapping;
    const struct ring_process *process;
    uint32_t *slots; /* numbers of the process's slots in the ring: first live ids, then ended ones */
    uint32_t live_count;
    uint32_t slot_count;
    size_t slot_room;
    uint32_t module_room;
    uint32_t script_count;  /* entries of the script table, with the ring's numbers; unused ones stay empty */
    struct rip_ring header; /* of the ring at first, then of the remains */
    unsigned char *bytes;
};

/* Slots ------------------------------------------------------------------------------------------------------------ */

static int take_slot(struct builder *builder, uint32_t slot)
{
    if (!ARRAY_RESERVE(builder->slots, builder->slot_room, builder->slot_count + 1u))
        return -ENOMEM;
    builder->slots[builder->slot_count++] = slot;
    return 0;
}

/* Returns how many slots fit. */
static uint32_t slots_max(const struct builder *builder)
{
    const struct rip_view *view = &builder->mapping->view;
    const uint64_t fixed = 9 * RIP_PAGE_BYTES + RIP_PROCESS_MODULES * RIP_MODULE_BYTES + REMAINS_BYTES_MAX / 256 +
                           (uint64_t)builder->script_count * RIP_SCRIPT_BYTES;

    return (uint32_t)((REMAINS_BYTES_MAX - fixed) / (view->slot_stride_bytes + view->note_stride_bytes));
}

/* Reads the header of the ring, and counts its scripts. */
static int read_header(struct builder *builder)
{
    const struct rip_view *view = &builder->mapping->view;
    const struct rip_ring *header = &builder->header;
    const int result = mapping_bytes(builder->mapping, 0, &builder->header, sizeof(*header));

    if (result == 0 && view->script_offset != 0)
        builder->script_count =
            header->script_high_water < view->script_capacity ? header->script_high_water : view->script_capacity;
    return result;
}

static int find_slots(struct builder *builder, uint32_t *ret_left_out)
{
    const uint32_t most = slots_max(builder);
    struct rip_scan_position position = {0};
    struct rip_sample samples[SAMPLES];
    size_t count;
    int result;

    do {
        result = mapping_scan(builder->mapping, &position, samples, SAMPLES, &count);
        for (size_t i = 0; result == 0 && i < count; i++) {
            if (samples[i].process != builder->process->claim.index)
                continue;
            if (builder->slot_count < most)
                result = take_slot(builder, samples[i].slot);
            else
                (*ret_left_out)++;
        }
    } while (result == 0 && count == SAMPLES);
    return result;
}

static bool is_ours(const struct builder *builder, const struct rip_slot *slot, const struct rip_ended *ended)
{
    return slot->generation == ended->generation && slot->process == builder->process->claim.index &&
           slot->registered_boot_ns >= builder->process->claim.entered_boot_ns && slot->state == RIP_SLOT_FREE;
}

/* Finds the ids that ended last, oldest first, if the ring still has them. */
static int find_ended(struct builder *builder)
{
    struct rip_view view = builder->mapping->view;
    struct rip_ended ended[RIP_ENDED_COUNT];
    struct rip_slot slot;
    uint64_t next;
    size_t count;
    int result = 0;

    builder->live_count = builder->slot_count;
    if ((builder->header.compatible_flags & RIP_RING_COUNTS_ENDED) == 0)
        return 0;
    view.base = (const unsigned char *)&builder->header; /* only the header is read */
    count = rip_view_ended(&view, 0, ended, RIP_ENDED_COUNT, &next);
    for (size_t i = 0; result == 0 && i < count && builder->slot_count < slots_max(builder); i++) {
        if (ended[i].slot >= view.slot_capacity)
            continue;
        result = mapping_bytes(builder->mapping, view.slot_offset + (uint64_t)ended[i].slot * view.slot_stride_bytes,
                               &slot, sizeof(slot));
        if (result == 0 && is_ours(builder, &slot, &ended[i]))
            result = take_slot(builder, ended[i].slot);
    }
    return result;
}

/* Layout ----------------------------------------------------------------------------------------------------------- */

static uint64_t place(struct builder *builder, uint64_t bytes)
{
    const uint64_t offset = builder->header.file_bytes;

    builder->header.file_bytes = (offset + bytes + RIP_PAGE_BYTES - 1) / RIP_PAGE_BYTES * RIP_PAGE_BYTES;
    return offset;
}

static void lay_out(struct builder *builder)
{
    const struct rip_view *view = &builder->mapping->view;
    const uint32_t slots = builder->slot_count != 0 ? builder->slot_count : 1;
    const uint64_t words = (slots + WORD_BITS - 1) / WORD_BITS;
    const bool has_notes = view->note_offset != 0;
    struct rip_ring *ring = &builder->header;

    builder->module_room = builder->process->claim.module_count + (uint32_t)learnt_count(builder->process->learnt);
    if (builder->module_room > RIP_PROCESS_MODULES)
        builder->module_room = RIP_PROCESS_MODULES;
    ring->header_bytes = RIP_PAGE_BYTES;
    ring->file_bytes = RIP_PAGE_BYTES;
    ring->summary_offset = place(builder, (words + WORD_BITS - 1) / WORD_BITS * sizeof(uint64_t));
    ring->live_offset = place(builder, words * sizeof(uint64_t));
    ring->process_capacity = 1;
    ring->process_stride_bytes = RIP_PROCESS_BYTES;
    ring->process_offset = place(builder, RIP_PROCESS_BYTES);
    ring->module_capacity = builder->module_room + 1;
    ring->module_stride_bytes = RIP_MODULE_BYTES;
    ring->module_offset = place(builder, (uint64_t)ring->module_capacity * RIP_MODULE_BYTES);
    ring->slot_capacity = slots;
    ring->slot_stride_bytes = view->slot_stride_bytes;
    ring->slot_offset = place(builder, (uint64_t)slots * view->slot_stride_bytes);
    ring->note_stride_bytes = has_notes ? view->note_stride_bytes : 0;
    ring->note_offset = has_notes ? place(builder, (uint64_t)slots * view->note_stride_bytes) : 0;
    ring->stamp_offset = ring->deep_offset = 0;
    ring->script_stride_bytes = RIP_SCRIPT_BYTES;
    ring->script_capacity = builder->script_count;
    ring->script_offset =
        builder->script_count != 0 ? place(builder, (uint64_t)builder->script_count * RIP_SCRIPT_BYTES) : 0;
    ring->process_high_water = 1;
    ring->module_high_water = 0;
    /* The ring's log names slots by its own numbers, so it is written anew: see log_ended(). */
    ring->compatible_flags &= ~(RIP_RING_COUNTS_ENDED | RIP_RING_HAS_SCRIPTS);
    memset(&ring->ended_count, 0, sizeof(*ring) - offsetof(struct rip_ring, ended_count));
    if (ring->script_offset != 0)
        ring->compatible_flags |= RIP_RING_HAS_SCRIPTS;
    ring->script_high_water = builder->script_count;
}

/* Contents --------------------------------------------------------------------------------------------------------- */

static void add_module(const struct builder *builder, const struct rip_module_info *module)
{
    struct rip_process *process = (void *)(builder->bytes + builder->header.process_offset);
    struct rip_ring *ring = (void *)builder->bytes;
    struct rip_module *entry;

    if (process->module_count == builder->module_room)
        return;
    entry =
        (void *)(builder->bytes + builder->header.module_offset + (uint64_t)process->module_count * RIP_MODULE_BYTES);
    entry->start = module->start;
    entry->end = module->end;
    entry->bias = module->bias;
    entry->flags = module->flags;
    entry->path_bytes = module->path_bytes;
    entry->build_id_bytes = module->build_id_bytes;
    memcpy(entry->build_id, module->build_id, sizeof(entry->build_id));
    memcpy(entry->path, module->path, sizeof(entry->path));
    process->module_index[process->module_count] = (uint16_t)process->module_count;
    ring->module_high_water = ++process->module_count;
}

static int copy_process(const struct builder *builder)
{
    const uint32_t index = builder->process->claim.index;
    const struct rip_view *view = &builder->mapping->view;
    struct rip_process *process = (void *)(builder->bytes + builder->header.process_offset);
    const uint32_t count = builder->process->claim.module_count;
    int result = mapping_bytes(builder->mapping, view->process_offset + (uint64_t)index * view->process_stride_bytes,
                               process, sizeof(*process));

    process->module_count = 0;
    for (uint32_t nth = 0; result == 0 && nth < count; nth++) {
        struct rip_module_info module;

        result = mapping_module(builder->mapping, index, nth, &module);
        if (result == 0)
            add_module(builder, &module);
        result = result == 1 ? 0 : result;
    }
    for (size_t i = 0; result == 0 && i < learnt_count(builder->process->learnt); i++)
        add_module(builder, learnt_at(builder->process->learnt, i));
    return result;
}

static void log_ended(const struct builder *builder, const struct rip_slot *slot, uint32_t number)
{
    struct rip_ring *ring = (void *)builder->bytes;
    const uint64_t nth = ring->ended_count++;

    ring->compatible_flags |= RIP_RING_COUNTS_ENDED;
    ring->ended[nth] =
        (uint64_t)slot->generation << RIP_ENDED_GENERATION_SHIFT | RIP_ENDED_LAP(nth) << RIP_ENDED_LAP_SHIFT | number;
    ring->ended_snap_count += slot->count - slot->counter_bias;
    ring->ended_begun_count++;
}

/* Copies the script function that an entry of the process is in. */
static int copy_script(const struct builder *builder, uint64_t entry)
{
    const uint64_t index = entry >> RIP_PLACE_INDEX_SHIFT & RIP_PLACE_INDEX_MASK;
    const struct rip_view *view = &builder->mapping->view;
    struct rip_script *script = (void *)(builder->bytes + builder->header.script_offset + index * RIP_SCRIPT_BYTES);

    if ((entry & RIP_PLACE_SCRIPT) == 0 || index >= builder->script_count || script->published != 0)
        return 0;
    return mapping_bytes(builder->mapping, view->script_offset + index * view->script_stride_bytes, script,
                         sizeof(*script));
}

static int copy_slot(const struct builder *builder, uint32_t number)
{
    const struct rip_view *view = &builder->mapping->view;
    const uint64_t stride = view->slot_stride_bytes, note_stride = view->note_stride_bytes;
    struct rip_slot *slot = (void *)(builder->bytes + builder->header.slot_offset + number * stride);
    uint64_t *live = (void *)(builder->bytes + builder->header.live_offset);
    uint64_t *summary = (void *)(builder->bytes + builder->header.summary_offset);
    int result = mapping_bytes(builder->mapping, view->slot_offset + builder->slots[number] * stride, slot, stride);

    if (result == 0 && builder->header.note_offset != 0)
        result = mapping_bytes(builder->mapping, view->note_offset + builder->slots[number] * note_stride,
                               builder->bytes + builder->header.note_offset + number * note_stride, note_stride);
    for (size_t i = 0; result == 0 && i < RIP_ENTRY_COUNT; i++)
        result = copy_script(builder, slot->entry[i]);
    slot->process = 0;
    if (number >= builder->live_count) {
        log_ended(builder, slot, number);
        return result;
    }
    live[number / WORD_BITS] |= UINT64_C(1) << number % WORD_BITS;
    summary[number / WORD_BITS / WORD_BITS] |= UINT64_C(1) << number / WORD_BITS % WORD_BITS;
    return result;
}

static int build(struct builder *builder)
{
    int result;

    lay_out(builder);
    if (builder->header.file_bytes > REMAINS_BYTES_MAX)
        return -EFBIG;
    builder->bytes = aligned_alloc(RIP_PAGE_BYTES, builder->header.file_bytes);
    if (builder->bytes == NULL)
        return -ENOMEM;
    memset(builder->bytes, 0, builder->header.file_bytes);
    memcpy(builder->bytes, &builder->header, sizeof(builder->header));
    result = copy_process(builder);
    for (uint32_t i = 0; result == 0 && i < builder->slot_count; i++)
        result = copy_slot(builder, i);
    return result;
}

int remains_take(struct ring *ring, uint32_t process, struct remains *ret_remains)
{
    struct builder builder = {.mapping = &ring->mapping};
    uint32_t left_out_count = 0;
    int result;

    if (process >= ring->process_count)
        return -ENOENT;
    builder.process = &ring->processes[process];
    result = read_header(&builder);
    if (result == 0)
        result = find_slots(&builder, &left_out_count);
    if (result == 0)
        result = find_ended(&builder);
    if (result == 0)
        result = build(&builder);
    free(builder.slots);
    if (result != 0) {
        free(builder.bytes);
        return result;
    }
    *ret_remains = (struct remains){builder.bytes, builder.header.file_bytes, builder.live_count, left_out_count};
    return 0;
}
