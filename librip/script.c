/* SPDX-License-Identifier: Apache-2.0 */
/*
 * script.c - functions of scripts, so that a line of a script can be a location.
 *
 * Guarantees
 *   1. Entries of the script table are written once, and published by their last store. Equal functions of several
 *      processes share an entry, unless the processes enter them at the same moment.
 *   2. A function that this process knows is found without a lock. The process's own index of the table (places of
 *      entries by the hash of their text) only grows while the process has its ring.
 *   3. A number is never given to another function of the same ring.
 */
#include <errno.h>
#include <string.h>

#include "writer.h"

enum {
    INDEX_PLACES = 2 * RIP_SCRIPT_MAX, /* at most half of them are used */
};

static uint16_t places[INDEX_PLACES]; /* index of an entry + 1; 0 = free */
static uint32_t indexed_count;        /* entries of the table that have been indexed; protected by the mutex */
static uint32_t epoch;

/* Mixes 8 bytes at a time, with the same multiplier and shift as the check of a note. */
static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t count)
{
    while (count != 0) {
        const size_t part = count < sizeof(uint64_t) ? count : sizeof(uint64_t);
        uint64_t word = 0;

        memcpy(&word, bytes, part);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
        bytes += part;
        count -= part;
    }
    return hash;
}

static uint64_t hash_script(const struct rip_script *script)
{
    return hash_bytes(hash_bytes(script->first_line, script->file, script->file_bytes), script->function,
                      script->function_bytes);
}

/* Another process of the ring may damage the entry's text. Both lengths are bounded by the size of their fields. */
static bool is_same(const struct rip_script *entry, const struct rip_script *script)
{
    return rip_load_acquire(&entry->published) != 0 && /* pairs with add_entry() */
           entry->first_line == script->first_line && entry->file_bytes == script->file_bytes &&
           entry->function_bytes == script->function_bytes && entry->flags == script->flags &&
           memcmp(entry->file, script->file, script->file_bytes) == 0 &&
           memcmp(entry->function, script->function, script->function_bytes) == 0;
}

/* Returns the place of the function in the index, or the free place where it would be. */
static uint16_t *find_place(const struct rip_script *script)
{
    uint64_t hash = hash_script(script);

    for (;; hash++) {
        uint16_t *place = &places[hash % INDEX_PLACES];
        const uint16_t number = rip_load_acquire(place); /* pairs with the release in this file: the entry is backed */

        if (number == 0 || is_same(rip__script_at(number - 1u), script))
            return place;
    }
}

static uint64_t number_of(const uint16_t *place)
{
    const uint16_t number = rip_load_acquire(place); /* pairs with the release in this file */

    return number == 0 ? 0 : RIP_PLACE_SCRIPT | (uint64_t)(number - 1u) << RIP_PLACE_INDEX_SHIFT;
}

/* Caller holds the mutex. Adds entries of other processes of the ring to the index. */
static void index_entries(void)
{
    /* pairs with the exchange in add_entry() of another process: entries below it are backed */
    uint32_t high_water = rip_load_acquire(&rip__header()->script_high_water);

    if (high_water > RIP_SCRIPT_MAX)
        high_water = RIP_SCRIPT_MAX;
    if (rip__open_until(&rip__writer.open_script_bytes,
                        rip__writer.geometry.script_offset + (uint64_t)high_water * RIP_SCRIPT_BYTES,
                        rip__writer.geometry.file_bytes) < 0)
        return;
    for (; indexed_count < high_water; indexed_count++) {
        struct rip_script copy;
        uint16_t *place;

        if (rip_load_acquire(&rip__script_at(indexed_count)->published) == 0) /* pairs with add_entry() */
            continue; /* being written: this process may enter the function a second time */
        copy = *rip__script_at(indexed_count);
        if (copy.file_bytes > RIP_SCRIPT_FILE_BYTES || copy.function_bytes > RIP_SCRIPT_FUNCTION_BYTES)
            continue;
        place = find_place(&copy);
        if (rip_load_relaxed(place) == 0)
            rip_store_release(place, (uint16_t)(indexed_count + 1)); /* pairs with find_place() */
    }
}

/* Caller holds the mutex. */
static bool add_entry(const struct rip_script *script, uint32_t *ret_index)
{
    struct rip_ring *ring = rip__header();
    uint32_t index = rip_load_relaxed(&ring->script_high_water);
    struct rip_script *entry;

    do {
        const uint64_t offset = rip__writer.geometry.script_offset + (uint64_t)index * RIP_SCRIPT_BYTES;

        if (index >= RIP_SCRIPT_MAX ||
            rip__open_until(&rip__writer.open_script_bytes, offset + RIP_SCRIPT_BYTES,
                            rip__writer.geometry.file_bytes) < 0 ||
            rip__populate(offset, RIP_SCRIPT_BYTES) < 0)
            return false;
        /* pairs with the acquire of script_high_water in reader.c */
    } while (!rip_compare_exchange(&ring->script_high_water, &index, index + 1));
    entry = rip__script_at(index);
    memcpy(&entry->first_line, &script->first_line, sizeof(*script) - offsetof(struct rip_script, first_line));
    rip_store_release(&entry->published, 1); /* pairs with the acquire of published in reader.c */
    *ret_index = index;
    return true;
}

/* Caller holds the mutex. */
static uint64_t enter(const struct rip_script *script)
{
    uint16_t *place;
    uint32_t index;

    index_entries();
    place = find_place(script);
    if (rip_load_relaxed(place) == 0) {
        if (!add_entry(script, &index)) {
            rip_add_relaxed(&rip__header()->scripts_dropped_count, 1);
            return 0;
        }
        rip_store_release(place, (uint16_t)(index + 1)); /* pairs with find_place() */
    }
    return number_of(place);
}

static void fill(struct rip_script *ret_script, const char *file, size_t file_length, const char *function,
                 size_t function_length, uint32_t first_line)
{
    *ret_script = (struct rip_script){.first_line = first_line};
    if (file_length > RIP_SCRIPT_FILE_BYTES) {
        file += file_length - RIP_SCRIPT_FILE_BYTES;
        file_length = RIP_SCRIPT_FILE_BYTES;
        ret_script->flags |= RIP_SCRIPT_FILE_TRUNCATED;
    }
    if (function_length > RIP_SCRIPT_FUNCTION_BYTES) {
        function_length = RIP_SCRIPT_FUNCTION_BYTES;
        ret_script->flags |= RIP_SCRIPT_FUNCTION_TRUNCATED;
    }
    ret_script->file_bytes = (uint16_t)file_length;
    ret_script->function_bytes = (uint8_t)function_length;
    if (file_length != 0)
        memcpy(ret_script->file, file, file_length);
    if (function_length != 0)
        memcpy(ret_script->function, function, function_length);
}

uint64_t rip_script_enter(const char *file, size_t file_length, const char *function, size_t function_length,
                          uint32_t first_line)
{
    struct rip_script script;
    struct rip_guard guard;
    uint64_t number;

    if (rip_load_acquire(&rip_ring) == NULL || rip__writer.geometry.script_offset == 0) /* pairs with file.c */
        return 0;
    fill(&script, file, file_length, function, function_length, first_line);
    number = number_of(find_place(&script));
    if (number != 0 || rip__is_filtered() || !rip__lock(&guard))
        return number;
    if (rip__writer.base != NULL && !rip__writer.left)
        number = enter(&script);
    rip__unlock(&guard);
    return number;
}

uint32_t rip_script_epoch(void)
{
    return rip_load_acquire(&epoch); /* pairs with rip__scripts_forget() */
}

void rip__scripts_forget(void)
{
    memset(places, 0, sizeof(places));
    indexed_count = 0;
    rip_store_release(&epoch, epoch + 1); /* pairs with rip_script_epoch() */
}
