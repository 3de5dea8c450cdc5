/* SPDX-License-Identifier: Apache-2.0 */
/* ring_walk.c - see ring_walk.h. */
#include "support/ring_walk.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 100 }; /* not a multiple of a word: scans are resumed in the middle of words */

#define PROMISE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition);                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The bytes do not change: the last location is the first entry of the trail. */
static void walk_last(const struct rip_view *view, uint32_t slot, enum rip_status trail_status,
                      const struct rip_entry *first)
{
    struct rip_last_info info = {.slot = UINT32_MAX};
    enum rip_status status = rip_view_last(view, slot, &info);

    PROMISE(status == trail_status);
    if (status != RIP_OK) {
        PROMISE(info.slot == UINT32_MAX);
        return;
    }
    PROMISE(info.slot == slot && info.generation % 2 == 0);
    PROMISE(info.entry.snap == (first != NULL ? first->snap : 0));
    PROMISE(info.entry.address == (first != NULL ? first->address : 0));
}

/* rip_view_entries() returns the entries of the trail after any snap, oldest first. */
static void walk_entries(const struct rip_view *view, uint32_t slot, const struct rip_entry *trail, size_t trail_count)
{
    struct rip_id_info id;
    struct rip_entry entries[RIP_ENTRY_COUNT];

    if (rip_view_id(view, slot, &id) != RIP_OK)
        return;
    for (size_t later = 0; later <= trail_count; later++) {
        const struct rip_sample sample = {.slot = slot,
                                          .generation = id.generation,
                                          .progress = id.progress,
                                          .counter_bias = (uint8_t)(id.progress - id.snap_count)};
        uint64_t after = later < trail_count ? trail[later].snap : 0;
        size_t count = SIZE_MAX;

        PROMISE(rip_view_entries(view, &sample, after, entries, &count) == RIP_OK);
        PROMISE(id.snap_count == 0 || count == later);
        for (size_t i = 0; i < count; i++)
            PROMISE(entries[i].snap == trail[count - 1 - i].snap && entries[i].address == trail[count - 1 - i].address);
    }
}

static void check_trail(enum rip_status status, const struct rip_entry *entries, size_t count, struct ring_walk *walk)
{
    PROMISE(status == RIP_OK || status == RIP_NOT_LIVE || status == RIP_CHANGED);
    if (status != RIP_OK) {
        PROMISE(count == RIP_ENTRY_COUNT + 1);
        return;
    }
    PROMISE(count <= RIP_ENTRY_COUNT);
    for (size_t i = 0; i < count; i++) {
        PROMISE(entries[i].snap >= 1);
        PROMISE(entries[i].address != 0 && entries[i].address <= RIP_ENTRY_ADDRESS_MASK);
        PROMISE(i == 0 || entries[i].snap < entries[i - 1].snap);
    }
    walk->entries += count;
}

static void walk_trail(const struct rip_view *view, uint32_t slot, struct ring_walk *walk)
{
    struct rip_entry entries[RIP_ENTRY_COUNT];
    size_t count = RIP_ENTRY_COUNT + 1;
    enum rip_status status = rip_view_trail(view, slot, entries, &count);

    check_trail(status, entries, count, walk);
    if (status == RIP_OK)
        walk_entries(view, slot, entries, count);
    walk_last(view, slot, status, status == RIP_OK && count != 0 ? &entries[0] : NULL);
}

static void walk_wait(const struct rip_view *view, uint32_t slot, struct ring_walk *walk)
{
    struct rip_wait_info info = {.slot = UINT32_MAX};
    enum rip_status status = rip_view_wait(view, slot, &info);

    PROMISE(status == RIP_OK || status == RIP_NOT_LIVE || status == RIP_CHANGED);
    if (status != RIP_OK) {
        PROMISE(info.slot == UINT32_MAX);
        return;
    }
    PROMISE(info.slot == slot && info.generation % 2 == 0 && info.address <= RIP_ENTRY_ADDRESS_MASK);
    PROMISE(info.seen_mono_ns != 0 && info.seen_mono_ns >> 63 == 0 && info.begun_mono_ns <= info.seen_mono_ns);
    walk->waits++;
}

static void check_note(enum rip_status status, uint32_t slot, const struct rip_note_info *info, struct ring_walk *walk)
{
    PROMISE(status == RIP_OK || status == RIP_NOT_LIVE || status == RIP_CHANGED);
    if (status != RIP_OK) {
        PROMISE(info->slot == UINT32_MAX);
        return;
    }
    PROMISE(info->slot == slot && info->generation % 2 == 0 && info->sequence != 0);
    PROMISE(info->text_bytes >= 1 && info->text_bytes <= RIP_NOTE_BYTES);
    walk->notes++;
}

static void walk_note(const struct rip_view *view, uint32_t slot, struct ring_walk *walk)
{
    struct rip_note_info info = {.slot = UINT32_MAX};
    enum rip_status status = rip_view_note(view, slot, &info);

    check_note(status, slot, &info, walk);
}

static void check_id(enum rip_status status, uint32_t slot, const struct rip_id_info *info, struct ring_walk *walk)
{
    PROMISE(status == RIP_OK || status == RIP_NOT_LIVE || status == RIP_CHANGED);
    if (status != RIP_OK)
        return;
    PROMISE(info->slot == slot && info->generation % 2 == 0);
    PROMISE(info->name_bytes <= RIP_NAME_BYTES && info->idle <= 1 && info->snap_count <= info->progress);
    walk->ids++;
}

static void walk_ids(const struct rip_view *view, uint32_t slot_capacity, struct ring_walk *walk)
{
    for (uint32_t slot = 0; slot < slot_capacity; slot++) {
        struct rip_id_info info;
        enum rip_status status = rip_view_id(view, slot, &info);

        check_id(status, slot, &info, walk);
        walk_wait(view, slot, walk);
        walk_note(view, slot, walk);
        walk_trail(view, slot, walk);
    }
}

static void walk_left(const struct rip_view *view, const struct rip_ended *ended, struct ring_walk *walk)
{
    struct rip_note_info note = {.slot = UINT32_MAX};
    struct rip_entry entries[RIP_ENTRY_COUNT];
    size_t count = RIP_ENTRY_COUNT + 1;
    struct rip_id_info id;
    enum rip_status status = rip_view_ended_id(view, ended->slot, ended->generation, &id);

    check_id(status, ended->slot, &id, walk);
    PROMISE(status != RIP_OK || id.generation == ended->generation);
    status = rip_view_ended_trail(view, ended->slot, ended->generation, entries, &count);
    check_trail(status, entries, count, walk);
    status = rip_view_ended_note(view, ended->slot, ended->generation, &note);
    check_note(status, ended->slot, &note, walk);
}

static void walk_ended(const struct rip_view *view, uint32_t slot_capacity, uint64_t first, struct ring_walk *walk)
{
    struct rip_ended ended[RIP_ENDED_COUNT];
    uint64_t next;
    size_t count;

    do {
        count = rip_view_ended(view, first, ended, BATCH, &next);
        PROMISE(count <= BATCH && (first <= next || count == 0));
        for (size_t i = 0; i < count; i++) {
            PROMISE(ended[i].number >= first && ended[i].number < next && ended[i].slot < slot_capacity);
            PROMISE(i == 0 || ended[i].number > ended[i - 1].number);
            walk_left(view, &ended[i], walk);
        }
        walk->ended += count;
        first = next;
    } while (count != 0);
}

static void walk_samples(const struct rip_view *view, uint32_t slot_capacity, struct ring_walk *walk)
{
    struct rip_scan_position position = {0};
    struct rip_sample samples[BATCH];
    int64_t last = -1;
    size_t count;

    do {
        count = rip_view_scan(view, &position, samples, BATCH);
        PROMISE(count <= BATCH);
        for (size_t i = 0; i < count; i++) {
            PROMISE((int64_t)samples[i].slot > last && samples[i].slot < slot_capacity);
            PROMISE(samples[i].generation % 2 == 0 && samples[i].idle <= 1);
            last = samples[i].slot;
        }
        walk->samples += count;
    } while (count == BATCH);
    PROMISE(rip_view_scan(view, &position, samples, BATCH) == 0);
}

static void walk_processes(const struct rip_view *view, struct ring_walk *walk)
{
    for (uint32_t process = 0; process <= RIP_PROCESS_MAX; process++) {
        struct rip_process_info info;
        enum rip_status status = rip_view_process(view, process, &info);

        PROMISE(status == RIP_OK || status == RIP_NOT_LIVE || status == RIP_CHANGED);
        if (status != RIP_OK)
            continue;
        PROMISE(info.index == process && info.module_count <= RIP_PROCESS_MODULES);
        PROMISE(info.state != RIP_PROCESS_FREE && info.state != RIP_PROCESS_CLAIMED);
        walk->processes++;
        for (uint32_t nth = 0; nth <= info.module_count; nth++) {
            struct rip_module_info module;

            status = rip_view_module(view, process, nth, &module);
            PROMISE(status == RIP_OK || status == RIP_NOT_LIVE || status == RIP_CHANGED);
            if (status != RIP_OK)
                continue;
            PROMISE(module.start < module.end && module.path_bytes <= RIP_MODULE_PATH_BYTES);
            PROMISE(module.build_id_bytes <= RIP_BUILD_ID_BYTES);
            walk->modules++;
        }
    }
}

static void walk_scripts(const struct rip_view *view, struct ring_walk *walk)
{
    static const uint64_t far[] = {RIP_SCRIPT_MAX - 1, RIP_SCRIPT_MAX, RIP_PLACE_INDEX_MASK};

    for (uint64_t i = 0; i < 64 + sizeof(far) / sizeof(far[0]); i++) {
        const uint64_t index = i < 64 ? i : far[i - 64], place = RIP_PLACE_SCRIPT | index << RIP_PLACE_INDEX_SHIFT | 12;
        struct rip_script_info script;

        PROMISE(rip_view_script(view, place ^ RIP_PLACE_SCRIPT, &script) == RIP_NOT_LIVE);
        PROMISE(rip_view_script(view, place | RIP_PLACE_UNKNOWN_BITS, &script) == RIP_NOT_LIVE);
        if (rip_view_script(view, place, &script) != RIP_OK)
            continue;
        PROMISE(script.index == index && index < view->script_capacity && script.line == 12);
        PROMISE(script.file_bytes <= RIP_SCRIPT_FILE_BYTES && script.function_bytes <= RIP_SCRIPT_FUNCTION_BYTES);
        walk->scripts++;
    }
}

enum rip_status ring_walk(const void *bytes, uint64_t size_bytes, struct ring_walk *ret_walk)
{
    struct ring_walk walk = {0};
    struct rip_ring_info info;
    struct rip_view view;
    enum rip_status status = rip_view_open(&view, bytes, size_bytes);

    PROMISE(rip_status_text(status)[0] != '\0');
    if (status == RIP_OK) {
        rip_view_info(&view, &info);
        walk_samples(&view, info.slot_capacity, &walk);
        walk_ids(&view, info.slot_capacity, &walk);
        walk_ended(&view, info.slot_capacity, 0, &walk);
        walk_ended(&view, info.slot_capacity, UINT64_MAX, &walk);
        walk_processes(&view, &walk);
        walk_scripts(&view, &walk);
    }
    *ret_walk = walk;
    return status;
}
