/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_copy.c - single records of a ring, copied out while their writers go on: an id, its wait for a lock, its
 * trail, its last location, a process, a module.
 *
 * Pure, as reader.c, whose guarantees hold here; 4 is kept in this file. A record is copied between two looks at the
 * word that says whose it is (its generation), and copied again if that moved, at most ATTEMPTS times.
 */
#include "reader_places.h"

enum {
    ATTEMPTS = 8,
    TRAIL_DRIFT_MAX = 128 /* counts */
};

RIP_STATIC_ASSERT(TRAIL_DRIFT_MAX + 3 * RIP_ENTRY_COUNT <= 256,
                  "a tag could come round even if two nested snaps are under the pen");

/* Ids -------------------------------------------------------------------------------------------------------------- */

/* Counts that were never snaps: the count began there. */
static uint64_t count_skip_of(const struct rip_slot *slot)
{
    return rip_load_relaxed(&slot->counter_bias);
}

static void copy_id(const struct rip_slot *slot, struct rip_id_info *ret_info)
{
    unsigned char line[1 + RIP_NAME_BYTES];
    uint64_t idle_mark, skip;

    idle_mark = rip_load_acquire(&slot->idle_mark); /* before count: see guarantee 3; rip_idle() in rip.h */
    ret_info->progress = rip_load_relaxed(&slot->count);
    ret_info->idle = idle_mark == ~ret_info->progress;
    skip = count_skip_of(slot);
    ret_info->snap_count = ret_info->progress > skip ? ret_info->progress - skip : 0;
    ret_info->id = rip_load_relaxed(&slot->id);
    ret_info->tid = rip_load_relaxed(&slot->tid);
    ret_info->process = rip_load_relaxed(&slot->process);
    ret_info->kind = rip_load_relaxed(&slot->kind);
    ret_info->registered_boot_ns = rip_load_relaxed(&slot->registered_boot_ns);
    copy_words(line, &slot->name_bytes, sizeof(line));
    ret_info->name_bytes = line[0] <= RIP_NAME_BYTES ? line[0] : RIP_NAME_BYTES;
    memcpy(ret_info->name, &line[1], ret_info->name_bytes);
}

enum rip_status rip_view_id(const struct rip_view *view, uint32_t slot_index, struct rip_id_info *ret_info)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct rip_id_info info = {.slot = slot_index};
        const struct rip_slot *slot;

        if (!is_live(view, slot_index))
            return RIP_NOT_LIVE;
        slot = slot_at(view, slot_index);
        info.generation = rip_load_acquire(&slot->generation); /* pairs with end_change() in slot.c */
        copy_id(slot, &info);
        rip_fence_acquire(); /* pairs with begin_change() in slot.c */
        if (info.generation % 2 == 0 && rip_load_relaxed(&slot->generation) == info.generation) {
            *ret_info = info;
            return RIP_OK;
        }
    }
    return RIP_CHANGED;
}

/* Waits ------------------------------------------------------------------------------------------------------------ */

/* The highest bit tells a declaration of idleness from the time of a mark; see idle_mark in ring.h. */
static bool marks_wait(uint64_t idle_mark)
{
    return idle_mark != 0 && idle_mark >> 63 == 0;
}

/* False if the mark is void: the id has snapped since. */
static bool copy_wait(const struct rip_slot *slot, uint64_t mark_ns, struct rip_wait_info *ret_info)
{
    uint64_t age_ns = rip_load_relaxed(&slot->wait_age_s) * UINT64_C(1000000000);
    uint8_t tag = rip_load_relaxed(&slot->wait_tag);

    ret_info->id = rip_load_relaxed(&slot->id);
    ret_info->tid = rip_load_relaxed(&slot->tid);
    ret_info->process = rip_load_relaxed(&slot->process);
    ret_info->flags = rip_load_relaxed(&slot->wait_flags);
    ret_info->owner = rip_load_relaxed(&slot->wait_owner);
    ret_info->address = rip_load_relaxed(&slot->wait_address) & RIP_ENTRY_ADDRESS_MASK;
    ret_info->progress = rip_load_relaxed(&slot->count);
    ret_info->seen_mono_ns = mark_ns;
    ret_info->begun_mono_ns = mark_ns > age_ns ? mark_ns - age_ns : 0;
    return tag == (uint8_t)ret_info->progress;
}

enum rip_status rip_view_wait(const struct rip_view *view, uint32_t slot_index, struct rip_wait_info *ret_info)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct rip_wait_info info = {.slot = slot_index};
        const struct rip_slot *slot;
        uint64_t mark_ns;
        bool stands;

        if (!is_live(view, slot_index))
            return RIP_NOT_LIVE;
        slot = slot_at(view, slot_index);
        info.generation = rip_load_acquire(&slot->generation); /* pairs with end_change() in slot.c */
        mark_ns = rip_load_acquire(&slot->idle_mark);          /* pairs with store_mark() in wait.c */
        if (info.generation % 2 == 0 && !marks_wait(mark_ns))
            return RIP_NOT_LIVE;
        stands = copy_wait(slot, mark_ns, &info);
        rip_fence_acquire(); /* pairs with begin_change() in slot.c and void_mark() in wait.c */
        if (info.generation % 2 != 0 || rip_load_relaxed(&slot->generation) != info.generation ||
            rip_load_relaxed(&slot->idle_mark) != mark_ns)
            continue;
        if (!stands)
            return RIP_NOT_LIVE;
        *ret_info = info;
        return RIP_OK;
    }
    return RIP_CHANGED;
}

/* Trails ----------------------------------------------------------------------------------------------------------- */

static const uint64_t *entries_of(const struct rip_view *view, const struct rip_slot *slot)
{
    return (const void *)((const unsigned char *)slot + view->entry_offset_bytes);
}

/* The entries of a slot as they were loaded, entry i between the loads of count[i] and count[i + 1]. */
struct trail_copy {
    uint64_t skip;
    uint64_t count[RIP_ENTRY_COUNT + 1];
    uint64_t entry[RIP_ENTRY_COUNT];
};

/* False if the slot was registered anew meanwhile. */
static bool copy_trail(const struct rip_view *view, const struct rip_slot *slot, struct trail_copy *copy)
{
    const uint64_t *entries = entries_of(view, slot);
    uint32_t generation = rip_load_acquire(&slot->generation); /* pairs with end_change() in slot.c */

    copy->skip = count_skip_of(slot);
    /* The acquires keep the loads in this order; rip_snap() in rip.h stores count before the entry that it counts. */
    copy->count[0] = rip_load_acquire(&slot->count);
    for (uint32_t i = 0; i < view->entry_count; i++) {
        copy->entry[i] = rip_load_acquire(&entries[i]);
        copy->count[i + 1] = rip_load_acquire(&slot->count);
    }
    rip_fence_acquire(); /* pairs with begin_change() in slot.c */
    return generation % 2 == 0 && rip_load_relaxed(&slot->generation) == generation;
}

/* An entry as it was loaded, between two loads of count. */
struct entry_copy {
    uint64_t before;
    uint64_t entry;
    uint64_t after;
};

/*
 * Which snap entry i is of, by its place and tag; false if that is not certain. The place holds the snap that was its
 * newest when it was loaded, or an older one (not stored yet, or never, when a handler snapped on): a distance that is
 * a multiple of entry_count and shows in the tag, unless it is 256; for that the count must have moved further than
 * TRAIL_DRIFT_MAX around the load. Registration clears the entries: address 0 is one not written since.
 */
static bool crumb_of(const struct rip_view *view, uint64_t skip, const struct entry_copy *copy, uint64_t i,
                     struct rip_crumb *ret_crumb)
{
    uint64_t newest = copy->after;
    uint64_t age = (newest - i) % view->entry_count; /* entry_count divides 2^64: right after wrapping too */
    uint64_t address = copy->entry & RIP_ENTRY_ADDRESS_MASK;
    uint64_t number = newest - age;

    if (newest - copy->before > TRAIL_DRIFT_MAX || age >= newest || number <= skip || address == 0)
        return false;
    if (copy->entry >> RIP_ENTRY_TAG_SHIFT != (uint8_t)number)
        return false;
    *ret_crumb = (struct rip_crumb){.snap = number - skip, .address = address};
    return true;
}

enum rip_status rip_view_trail(const struct rip_view *view, uint32_t slot_index,
                               struct rip_crumb ret_crumbs[RIP_ENTRY_COUNT], size_t *ret_count)
{
    struct trail_copy copy;
    bool same_id = false, settled = false;
    size_t crumb_count = 0;

    for (unsigned attempt = 0; attempt < ATTEMPTS && !(same_id && settled); attempt++) {
        if (!is_live(view, slot_index))
            return RIP_NOT_LIVE;
        same_id = copy_trail(view, slot_at(view, slot_index), &copy);
        settled = copy.count[view->entry_count] - copy.count[0] <= TRAIL_DRIFT_MAX;
    }
    if (!same_id)
        return RIP_CHANGED;
    for (uint32_t i = 0; i < view->entry_count; i++) {
        const struct entry_copy entry = {copy.count[i], copy.entry[i], copy.count[i + 1]};
        struct rip_crumb crumb;
        size_t place = crumb_count;

        if (!crumb_of(view, copy.skip, &entry, i, &crumb))
            continue;
        for (; place > 0 && ret_crumbs[place - 1].snap < crumb.snap; place--)
            ret_crumbs[place] = ret_crumbs[place - 1];
        ret_crumbs[place] = crumb;
        crumb_count++;
    }
    *ret_count = crumb_count;
    return RIP_OK;
}

/* Back from the newest entry to the first that is certain. False: none is. */
static bool last_crumb(const struct rip_view *view, const struct rip_slot *slot, struct rip_crumb *ret_crumb)
{
    const uint64_t *entries = entries_of(view, slot);
    uint64_t skip = count_skip_of(slot);
    uint64_t newest = rip_load_acquire(&slot->count); /* as in copy_trail() */
    struct entry_copy copy = {.after = newest};

    for (uint64_t age = 0; age < view->entry_count && age < newest; age++) {
        uint64_t i = (newest - age) % view->entry_count;

        copy.before = copy.after;
        copy.entry = rip_load_acquire(&entries[i]);
        copy.after = rip_load_acquire(&slot->count);
        if (crumb_of(view, skip, &copy, i, ret_crumb))
            return true;
    }
    return false;
}

enum rip_status rip_view_last(const struct rip_view *view, uint32_t slot_index, struct rip_last_info *ret_info)
{
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct rip_last_info info = {.slot = slot_index};
        const struct rip_slot *slot;

        if (!is_live(view, slot_index))
            return RIP_NOT_LIVE;
        slot = slot_at(view, slot_index);
        info.generation = rip_load_acquire(&slot->generation); /* pairs with end_change() in slot.c */
        info.process = rip_load_relaxed(&slot->process);
        if (!last_crumb(view, slot, &info.crumb))
            info.crumb = (struct rip_crumb){0};
        rip_fence_acquire(); /* pairs with begin_change() in slot.c */
        if (info.generation % 2 == 0 && rip_load_relaxed(&slot->generation) == info.generation) {
            *ret_info = info;
            return RIP_OK;
        }
    }
    return RIP_CHANGED;
}

/* Processes and modules -------------------------------------------------------------------------------------------- */

static const struct rip_process *process_at(const struct rip_view *view, uint32_t index)
{
    return (const void *)(view->base + view->process_offset + (uint64_t)index * view->process_stride_bytes);
}

static const struct rip_module *module_at(const struct rip_view *view, uint32_t index)
{
    return (const void *)(view->base + view->module_offset + (uint64_t)index * view->module_stride_bytes);
}

static bool process_may_be_read(const struct rip_view *view, uint32_t index)
{
    /* pairs with the release of process_high_water in process.c: the records below it are backed */
    return index < view->process_capacity && index < rip_load_acquire(&ring_of(view)->process_high_water);
}

static bool holds_process(uint32_t state)
{
    return state != RIP_PROCESS_FREE && state != RIP_PROCESS_CLAIMED;
}

static uint32_t module_count_of(const struct rip_process *process)
{
    uint32_t count = rip_load_acquire(&process->module_count); /* pairs with its release in modules.c */

    return count <= RIP_PROCESS_MODULES ? count : RIP_PROCESS_MODULES;
}

/* Both words that say whose the record is, as they were before something was copied. */
static bool process_unchanged(const struct rip_process *process, uint32_t state, uint32_t generation)
{
    rip_fence_acquire(); /* pairs with the release fence after state CLAIMED in process.c */
    return rip_load_relaxed(&process->state) == state && rip_load_relaxed(&process->generation) == generation;
}

enum rip_status rip_view_process(const struct rip_view *view, uint32_t index, struct rip_process_info *ret_info)
{
    const struct rip_process *process;

    if (!process_may_be_read(view, index))
        return RIP_NOT_LIVE;
    process = process_at(view, index);
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        struct rip_process_info info = {.index = index};

        info.state = rip_load_acquire(&process->state); /* pairs with the release of state LIVE in process.c */
        if (!holds_process(info.state))
            return RIP_NOT_LIVE;
        info.generation = rip_load_relaxed(&process->generation);
        info.flags = rip_load_relaxed(&process->flags);
        info.pid = rip_load_relaxed(&process->pid);
        info.parent_pid = rip_load_relaxed(&process->parent_pid);
        info.start_time_ticks = rip_load_relaxed(&process->start_time_ticks);
        info.pid_namespace = rip_load_relaxed(&process->pid_namespace);
        info.entered_boot_ns = rip_load_relaxed(&process->entered_boot_ns);
        info.uid = rip_load_relaxed(&process->uid);
        info.module_count = module_count_of(process);
        copy_words(info.comm, process->comm, sizeof(info.comm));
        if (process_unchanged(process, info.state, info.generation)) {
            *ret_info = info;
            return RIP_OK;
        }
    }
    return RIP_CHANGED;
}

/* Index into the module table of the nth module of a process. */
static enum rip_status find_module(const struct rip_view *view, uint32_t index, uint32_t nth, uint32_t *ret_module)
{
    const struct rip_process *process;

    if (!process_may_be_read(view, index))
        return RIP_NOT_LIVE;
    process = process_at(view, index);
    for (unsigned attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint32_t state = rip_load_acquire(&process->state); /* pairs with the release of state LIVE in process.c */
        uint32_t generation = rip_load_relaxed(&process->generation);
        uint32_t module;

        if (!holds_process(state) || nth >= module_count_of(process))
            return RIP_NOT_LIVE;
        module = rip_load_relaxed(&process->module_index[nth]);
        if (process_unchanged(process, state, generation)) {
            *ret_module = module;
            return RIP_OK;
        }
    }
    return RIP_CHANGED;
}

/* Published entries never change, so one copy is enough; what a hostile writer changes is still bounded. */
enum rip_status rip_view_module(const struct rip_view *view, uint32_t process, uint32_t nth,
                                struct rip_module_info *ret_info)
{
    struct rip_module_info info = {0};
    const struct rip_module *module;
    enum rip_status status;
    uint32_t index;

    status = find_module(view, process, nth, &index);
    if (status != RIP_OK)
        return status;
    /* pairs with the release of module_high_water in modules.c: the entries below it are backed */
    if (index >= view->module_capacity || index >= rip_load_acquire(&ring_of(view)->module_high_water))
        return RIP_NOT_LIVE;
    module = module_at(view, index);
    info.end = rip_load_acquire(&module->end); /* pairs with the release of end in modules.c */
    info.start = rip_load_relaxed(&module->start);
    if (info.end == 0 || info.start >= info.end)
        return RIP_NOT_LIVE;
    info.bias = rip_load_relaxed(&module->bias);
    info.flags = rip_load_relaxed(&module->flags);
    info.path_bytes = rip_load_relaxed(&module->path_bytes);
    if (info.path_bytes > RIP_MODULE_PATH_BYTES)
        info.path_bytes = RIP_MODULE_PATH_BYTES;
    info.build_id_bytes = rip_load_relaxed(&module->build_id_bytes);
    if (info.build_id_bytes > RIP_BUILD_ID_BYTES)
        info.build_id_bytes = RIP_BUILD_ID_BYTES;
    copy_words(info.build_id, module->build_id, sizeof(info.build_id));
    copy_words(info.path, module->path, sizeof(info.path));
    memset(info.build_id + info.build_id_bytes, 0, sizeof(info.build_id) - info.build_id_bytes);
    memset(info.path + info.path_bytes, 0, sizeof(info.path) - info.path_bytes);
    *ret_info = info;
    return RIP_OK;
}
