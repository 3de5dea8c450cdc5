/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_builder.c - see ring_builder.h. The layout is computed here again on purpose: shared code could hide a mistake
 * of the writer or the reader.
 */
#include "support/ring_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

/* The geometry with every default filled in, and the offset of each section. */
struct layout {
    struct ring_geometry geometry;
    uint64_t summary_offset;
    uint64_t live_offset;
    uint64_t process_offset;
    uint64_t module_offset;
    uint64_t slot_offset;
    uint64_t note_offset;
    uint64_t script_offset;
    uint64_t file_bytes;
};

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
    return value != 0 ? value : fallback;
}

static uint64_t after_section(uint64_t offset, uint64_t bytes)
{
    return (offset + bytes + RIP_PAGE_BYTES - 1) / RIP_PAGE_BYTES * RIP_PAGE_BYTES;
}

static struct layout lay_out(const struct ring_geometry *wanted)
{
    struct layout layout = {.geometry = *wanted};
    struct ring_geometry *geometry = &layout.geometry;
    uint64_t live_words = ((uint64_t)wanted->slot_capacity + WORD_BITS - 1) / WORD_BITS;
    uint64_t summary_words = (live_words + WORD_BITS - 1) / WORD_BITS;

    geometry->slot_stride_bytes = or_default(wanted->slot_stride_bytes, RIP_SLOT_BYTES);
    geometry->entry_count = or_default(wanted->entry_count, RIP_ENTRY_COUNT);
    geometry->entry_offset_bytes = or_default(wanted->entry_offset_bytes, offsetof(struct rip_slot, entry));
    geometry->process_capacity = or_default(wanted->process_capacity, RIP_PROCESS_MIN);
    geometry->process_stride_bytes = or_default(wanted->process_stride_bytes, RIP_PROCESS_BYTES);
    geometry->module_capacity = or_default(wanted->module_capacity, 64);
    geometry->module_stride_bytes = or_default(wanted->module_stride_bytes, RIP_MODULE_BYTES);

    layout.summary_offset = RIP_PAGE_BYTES;
    layout.live_offset = after_section(layout.summary_offset, summary_words * sizeof(uint64_t));
    layout.process_offset = after_section(layout.live_offset, live_words * sizeof(uint64_t));
    layout.module_offset =
        after_section(layout.process_offset, (uint64_t)geometry->process_capacity * geometry->process_stride_bytes);
    layout.slot_offset =
        after_section(layout.module_offset, (uint64_t)geometry->module_capacity * geometry->module_stride_bytes);
    layout.note_offset =
        after_section(layout.slot_offset, (uint64_t)geometry->slot_capacity * geometry->slot_stride_bytes);
    layout.script_offset =
        after_section(layout.note_offset, (uint64_t)geometry->slot_capacity * geometry->note_stride_bytes);
    layout.file_bytes = after_section(layout.script_offset, (uint64_t)geometry->script_capacity * RIP_SCRIPT_BYTES);
    return layout;
}

uint64_t ring_builder_size(const struct ring_geometry *geometry)
{
    return lay_out(geometry).file_bytes;
}

void ring_builder_init(struct ring_builder *builder, void *zeroed, const struct ring_geometry *geometry)
{
    struct layout layout = lay_out(geometry);
    struct rip_ring *ring = zeroed;

    ring->format_version = RIP_FORMAT_VERSION;
    ring->header_bytes = RIP_PAGE_BYTES;
    ring->byte_order = RIP_BYTE_ORDER;
    ring->file_bytes = layout.file_bytes;
    for (unsigned i = 0; i < sizeof(ring->ring_id); i++) {
        ring->ring_id[i] = (uint8_t)(0xa0 + i);
        ring->boot_id[i] = (uint8_t)(0xb0 + i);
    }
    ring->created_wall_ns = UINT64_C(1700000000000000000);
    ring->created_boot_ns = UINT64_C(5000000000);
    ring->slot_capacity = layout.geometry.slot_capacity;
    ring->slot_stride_bytes = layout.geometry.slot_stride_bytes;
    ring->slot_offset = layout.slot_offset;
    ring->entry_count = layout.geometry.entry_count;
    ring->entry_offset_bytes = layout.geometry.entry_offset_bytes;
    ring->summary_offset = layout.summary_offset;
    ring->live_offset = layout.live_offset;
    if (layout.geometry.note_stride_bytes != 0) {
        ring->note_offset = layout.note_offset;
        ring->note_stride_bytes = layout.geometry.note_stride_bytes;
    }
    if (layout.geometry.script_capacity != 0) {
        ring->compatible_flags |= RIP_RING_HAS_SCRIPTS;
        ring->script_offset = layout.script_offset;
        ring->script_stride_bytes = RIP_SCRIPT_BYTES;
        ring->script_capacity = layout.geometry.script_capacity;
    }
    ring->process_capacity = layout.geometry.process_capacity;
    ring->process_stride_bytes = layout.geometry.process_stride_bytes;
    ring->process_offset = layout.process_offset;
    ring->module_capacity = layout.geometry.module_capacity;
    ring->module_stride_bytes = layout.geometry.module_stride_bytes;
    ring->module_offset = layout.module_offset;
    ring->lock_holder_offset = RIP_LOCK_HOLDER_OFFSET;
    ring->lock_life_offset = RIP_LOCK_LIFE_OFFSET;
    ring->lock_takeover_offset = RIP_LOCK_TAKEOVER_OFFSET;
    memset((unsigned char *)zeroed + layout.summary_offset, 0,
           layout.live_offset - layout.summary_offset); /* allocate */
    ring->magic = RIP_MAGIC;
    *builder = (struct ring_builder){.bytes = zeroed, .size_bytes = layout.file_bytes, .ring = ring};
}

void ring_builder_new(struct ring_builder *builder, const struct ring_geometry *geometry)
{
    uint64_t size_bytes = ring_builder_size(geometry);
    void *bytes = aligned_alloc(RIP_PAGE_BYTES, (size_t)size_bytes);

    if (bytes == NULL) {
        perror("ring_builder_new");
        exit(EXIT_FAILURE);
    }
    memset(bytes, 0, (size_t)size_bytes);
    ring_builder_init(builder, bytes, geometry);
}

void ring_builder_free(struct ring_builder *builder)
{
    free(builder->bytes);
    *builder = (struct ring_builder){0};
}

struct rip_slot *ring_builder_slot(const struct ring_builder *builder, uint32_t slot)
{
    const struct rip_ring *ring = builder->ring;

    return (void *)(builder->bytes + ring->slot_offset + (uint64_t)slot * ring->slot_stride_bytes);
}

uint64_t *ring_builder_entries(const struct ring_builder *builder, uint32_t slot)
{
    return (void *)((unsigned char *)ring_builder_slot(builder, slot) + builder->ring->entry_offset_bytes);
}

struct rip_slot_note *ring_builder_note_at(const struct ring_builder *builder, uint32_t slot)
{
    const struct rip_ring *ring = builder->ring;

    return (void *)(builder->bytes + ring->note_offset + (uint64_t)slot * ring->note_stride_bytes);
}

struct rip_process *ring_builder_process(const struct ring_builder *builder, uint32_t process)
{
    const struct rip_ring *ring = builder->ring;

    return (void *)(builder->bytes + ring->process_offset + (uint64_t)process * ring->process_stride_bytes);
}

struct rip_module *ring_builder_module(const struct ring_builder *builder, uint32_t module)
{
    const struct rip_ring *ring = builder->ring;

    return (void *)(builder->bytes + ring->module_offset + (uint64_t)module * ring->module_stride_bytes);
}

void ring_builder_set_live(struct ring_builder *builder, uint32_t slot, bool live)
{
    uint64_t *live_words = (void *)(builder->bytes + builder->ring->live_offset);
    uint64_t *summary_words = (void *)(builder->bytes + builder->ring->summary_offset);
    uint32_t word = slot / WORD_BITS;
    uint64_t bit = UINT64_C(1) << (slot % WORD_BITS);

    if (live) {
        live_words[word] |= bit;
        summary_words[word / WORD_BITS] |= UINT64_C(1) << (word % WORD_BITS);
    } else {
        live_words[word] &= ~bit;
    }
}

void ring_builder_add_id(struct ring_builder *builder, uint32_t slot_index, uint32_t id, uint32_t tid, uint16_t process,
                         const char *name)
{
    struct rip_slot *slot = ring_builder_slot(builder, slot_index);
    size_t name_bytes = strlen(name);
    uint32_t generation = slot->generation;

    memset(slot, 0, sizeof(*slot));
    memset(ring_builder_entries(builder, slot_index), 0, builder->ring->entry_count * sizeof(uint64_t));
    if (builder->ring->note_offset != 0) /* allocates the note, like the slot */
        memset(ring_builder_note_at(builder, slot_index), 0, sizeof(struct rip_slot_note));
    slot->generation = generation + 2;
    slot->id = id;
    slot->tid = tid;
    slot->process = process;
    slot->state = RIP_SLOT_LIVE;
    slot->registered_boot_ns = UINT64_C(6000000000) + slot_index;
    slot->name_bytes = (uint8_t)(name_bytes < RIP_NAME_BYTES ? name_bytes : RIP_NAME_BYTES);
    memcpy(slot->name, name, slot->name_bytes);
    builder->ring->registered_count++;
    ring_builder_set_live(builder, slot_index, true);
}

void ring_builder_remove_id(struct ring_builder *builder, uint32_t slot)
{
    ring_builder_set_live(builder, slot, false);
    ring_builder_slot(builder, slot)->state = RIP_SLOT_FREE;
}

void ring_builder_end_id(struct ring_builder *builder, uint32_t slot)
{
    struct rip_ring *ring = builder->ring;
    const struct rip_slot *of = ring_builder_slot(builder, slot);
    uint64_t number = ring->ended_count++, lap = number / RIP_ENDED_COUNT + 1;

    ring_builder_remove_id(builder, slot);
    ring->compatible_flags |= RIP_RING_COUNTS_ENDED;
    ring->ended_begun_count++;
    ring->ended_snap_count += of->count - of->counter_bias;
    ring->ended[number % RIP_ENDED_COUNT] = (uint64_t)of->generation << 32 | lap % 64 << 26 | slot;
}

void ring_builder_snap(struct ring_builder *builder, uint32_t slot_index, uint64_t address)
{
    uint64_t count = ++ring_builder_slot(builder, slot_index)->count;

    ring_builder_entries(builder, slot_index)[count % builder->ring->entry_count] =
        (count << RIP_ENTRY_TAG_SHIFT) | (address & RIP_ENTRY_ADDRESS_MASK);
}

uint64_t ring_builder_address(uint64_t count)
{
    return ((count + 1) * UINT64_C(0x9e3779b97f4a7c15) & RIP_ENTRY_ADDRESS_MASK) | 1;
}

void ring_builder_run_to(struct ring_builder *builder, uint32_t slot, uint64_t count)
{
    uint64_t kept = count < builder->ring->entry_count ? count : builder->ring->entry_count;

    ring_builder_slot(builder, slot)->count = count - kept;
    for (uint64_t i = count - kept + 1; kept-- > 0; i++)
        ring_builder_snap(builder, slot, ring_builder_address(i));
}

void ring_builder_note(struct ring_builder *builder, uint32_t slot, const void *text, uint8_t bytes)
{
    struct rip_slot_note *note = ring_builder_note_at(builder, slot);
    uint64_t check = ++note->sequence, word;

    note->text_bytes = bytes;
    memset(note->text, 0, sizeof(note->text));
    memcpy(note->text, text, bytes < RIP_NOTE_BYTES ? bytes : RIP_NOTE_BYTES);
    for (const unsigned char *at = &note->text_bytes; at < note->text + sizeof(note->text); at += sizeof(word)) {
        memcpy(&word, at, sizeof(word));
        check = (check ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        check ^= check >> 32;
    }
    note->check = check;
}

struct rip_script *ring_builder_script_at(const struct ring_builder *builder, uint32_t script)
{
    return (void *)(builder->bytes + builder->ring->script_offset + (uint64_t)script * RIP_SCRIPT_BYTES);
}

uint32_t ring_builder_add_script(struct ring_builder *builder, const char *file, const char *function)
{
    struct rip_script *script = ring_builder_script_at(builder, builder->ring->script_high_water);

    *script = (struct rip_script){
        .published = 1,
        .first_line = 7,
        .file_bytes = (uint16_t)strlen(file),
        .function_bytes = (uint8_t)strlen(function),
    };
    memcpy(script->file, file, script->file_bytes);
    memcpy(script->function, function, script->function_bytes);
    return builder->ring->script_high_water++;
}

void ring_builder_idle(struct ring_builder *builder, uint32_t slot)
{
    ring_builder_slot(builder, slot)->idle_mark = ~ring_builder_slot(builder, slot)->count;
}

void ring_builder_add_process(struct ring_builder *builder, uint32_t index, uint32_t pid, uint64_t start_time_ticks,
                              const char *comm)
{
    struct rip_process *process = ring_builder_process(builder, index);
    size_t comm_bytes = strlen(comm);

    process->generation++;
    process->flags = RIP_PROCESS_HAS_HOLDER_LOCK | RIP_PROCESS_HAS_LIFE_LOCK;
    process->pid = pid;
    process->start_time_ticks = start_time_ticks;
    process->pid_namespace = UINT64_C(4026531836);
    process->entered_boot_ns = UINT64_C(5500000000);
    process->uid = 1000;
    process->module_count = 0;
    memset(process->comm, 0, sizeof(process->comm));
    memcpy(process->comm, comm, comm_bytes < RIP_COMM_BYTES ? comm_bytes : RIP_COMM_BYTES);
    process->state = RIP_PROCESS_LIVE;
    if (builder->ring->process_high_water <= index)
        builder->ring->process_high_water = index + 1;
}

uint32_t ring_builder_add_module(struct ring_builder *builder, uint64_t start, uint64_t end, uint64_t bias,
                                 const char *path, const void *build_id, size_t build_id_bytes)
{
    uint32_t index = builder->ring->module_high_water++;
    struct rip_module *module = ring_builder_module(builder, index);
    size_t path_bytes = strlen(path);

    module->start = start;
    module->end = end;
    module->bias = bias;
    module->path_bytes = (uint16_t)(path_bytes < RIP_MODULE_PATH_BYTES ? path_bytes : RIP_MODULE_PATH_BYTES);
    memcpy(module->path, path, module->path_bytes);
    if (build_id != NULL) {
        module->build_id_bytes = (uint8_t)(build_id_bytes < RIP_BUILD_ID_BYTES ? build_id_bytes : RIP_BUILD_ID_BYTES);
        memcpy(module->build_id, build_id, module->build_id_bytes);
    }
    return index;
}

void ring_builder_link_module(struct ring_builder *builder, uint32_t process_index, uint32_t module)
{
    struct rip_process *process = ring_builder_process(builder, process_index);

    process->module_index[process->module_count++] = (uint16_t)module;
}

void ring_builder_new_sample(struct ring_builder *builder)
{
    static const unsigned char build_id[] = {0x9c, 0x0f, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08,
                                             0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12};
    const struct ring_geometry geometry = {.slot_capacity = 10, .process_capacity = 4, .module_capacity = 8};

    ring_builder_new(builder, &geometry);
    ring_builder_add_process(builder, 0, 4690, 123456, "checkout");
    ring_builder_add_process(builder, 1, 4700, 123999, "checkout-worker"); /* 15 bytes, the most comm holds */
    ring_builder_process(builder, 1)->state = RIP_PROCESS_EXITED;
    ring_builder_add_module(builder, 0x400000, 0x500000, 0, "/usr/bin/checkout", build_id, sizeof(build_id));
    ring_builder_add_module(builder, 0x7f0000000000, 0x7f0000200000, 0x7f0000000000, "/lib/libc.so.6", build_id, 8);
    ring_builder_add_module(builder, 0x7fff00000000, 0x7fff00001000, 0x7fff00000000, "[vdso]", NULL, 0);
    ring_builder_module(builder, 0)->flags = RIP_MODULE_MAIN;
    for (uint32_t module = 0; module < 3; module++)
        ring_builder_link_module(builder, 0, module);
    ring_builder_link_module(builder, 1, 0);

    ring_builder_add_id(builder, 0, 4690, 4690, 0, "main");
    ring_builder_idle(builder, 0); /* no snaps */
    ring_builder_add_id(builder, 1, 17, 4711, 0, "worker-17");
    ring_builder_run_to(builder, 1, 918272);
    ring_builder_snap(builder, 1, 0x401234);
    ring_builder_add_id(builder, 2, 18, 4712, 0, "worker-18");
    ring_builder_run_to(builder, 2, 5);
    ring_builder_idle(builder, 2);
    ring_builder_add_id(builder, 3, 4000000000u, 0, 0, "coroutine \xff\n"); /* neither UTF-8 nor printable */
    ring_builder_slot(builder, 3)->kind = RIP_KIND_COROUTINE;
    ring_builder_run_to(builder, 3, (UINT64_C(1) << 32) + 5);
    ring_builder_add_id(builder, 4, 20, 4714, 0, "ended");
    ring_builder_remove_id(builder, 4);
    ring_builder_add_id(builder, 5, 21, 4715, 0, "half");
    ring_builder_slot(builder, 5)->generation++;
    ring_builder_add_id(builder, 9, 22, 4716, 1, "the last slot, whose name is longer than the sixty-three kept bytes");
    ring_builder_run_to(builder, 9, 33);
}
