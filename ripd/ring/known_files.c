/* SPDX-License-Identifier: Apache-2.0 */
/* known_files.c - files by inode, hashed with open addressing. Touches the clock. */
#include "ring/known_files.h"

#include <stdlib.h>

#include "os/clock.h"

enum {
    KNOWN_CAPACITY_MIN = 64,
    SETTLED_NS = 100000000, /* many ticks of any file's clock */
};

static size_t known_place(const struct known_files *known, uint64_t device, uint64_t inode)
{
    const uint64_t parts[] = {device, inode};
    size_t place = (size_t)hash_bytes(&known->hash_key, parts, sizeof(parts)) & (known->capacity - 1);

    while (known->entries[place].used &&
           (known->entries[place].inode != inode || known->entries[place].device != device))
        place = (place + 1) & (known->capacity - 1);
    return place;
}

struct known_file *known_files_find(const struct known_files *known, uint64_t device, uint64_t inode)
{
    size_t place;

    if (known->capacity == 0)
        return NULL;
    place = known_place(known, device, inode);
    return known->entries[place].used ? &known->entries[place] : NULL;
}

/* Moves the entries for which keep is true to a table with room for as many again. False: no memory, all is as it was.
 */
static bool rebuild_known(struct known_files *known, bool (*keep)(const struct known_file *entry, uint32_t pass),
                          uint32_t pass)
{
    struct known_files rebuilt = {.hash_key = known->hash_key, .capacity = KNOWN_CAPACITY_MIN};

    for (size_t i = 0; i < known->capacity; i++)
        rebuilt.count += known->entries[i].used && keep(&known->entries[i], pass);
    while (rebuilt.capacity < 3 * rebuilt.count)
        rebuilt.capacity *= 2;
    rebuilt.entries = calloc(rebuilt.capacity, sizeof(*rebuilt.entries));
    if (rebuilt.entries == NULL)
        return false;
    for (size_t i = 0; i < known->capacity; i++) {
        const struct known_file *entry = &known->entries[i];

        if (entry->used && keep(entry, pass))
            rebuilt.entries[known_place(&rebuilt, entry->device, entry->inode)] = *entry;
    }
    free(known->entries);
    *known = rebuilt;
    return true;
}

static bool keep_all(const struct known_file *entry, uint32_t pass)
{
    (void)entry;
    (void)pass;
    return true;
}

static bool keep_seen(const struct known_file *entry, uint32_t pass)
{
    return entry->ring != NULL || entry->pass == pass;
}

/* Within one tick of the file's clock a second change does not show. A time in the future says nothing either way. */
static uint64_t settled_time(const struct file_identity *file)
{
    uint64_t now_ns = clock_wall_ns();

    return file->changed_ns <= now_ns && now_ns - file->changed_ns < SETTLED_NS ? 0 : file->changed_ns;
}

struct known_file *known_files_set(struct known_files *known, const struct file_identity *file, struct ring *ring,
                                   uint32_t pass)
{
    struct known_file *entry = known_files_find(known, file->device, file->inode);

    if (entry == NULL) {
        if (2 * (known->count + 1) > known->capacity && !rebuild_known(known, keep_all, 0))
            return NULL;
        entry = &known->entries[known_place(known, file->device, file->inode)];
        known->count++;
    }
    *entry = (struct known_file){
        .device = file->device,
        .inode = file->inode,
        .changed_ns = settled_time(file),
        .size_bytes = file->size_bytes,
        .ring = ring,
        .pass = pass,
        .used = true,
    };
    return entry;
}

bool known_files_sweep(struct known_files *known, uint32_t pass)
{
    return rebuild_known(known, keep_seen, pass);
}
