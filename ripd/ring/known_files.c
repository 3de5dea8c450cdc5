/* SPDX-License-Identifier: Apache-2.0 */
/* known_files.c - files by inode, hashed. Touches the clock. */
#include "ring/known_files.h"

#include <stdlib.h>

#include "os/clock.h"
#include "util/array.h"

enum { SETTLED_NS = 100000000 }; /* many ticks of any file's clock */

static uint64_t hash_of(const struct known_files *known, uint64_t device, uint64_t inode)
{
    const uint64_t parts[] = {device, inode};

    return hash_bytes(&known->hash_key, parts, sizeof(parts));
}

struct known_file *known_files_find(const struct known_files *known, const struct file_identity *file)
{
    const uint64_t hash = hash_of(known, file->device, file->inode);
    size_t probe = 0;
    uint32_t number;

    while ((number = hash_index_next(&known->index, hash, &probe)) != 0 &&
           (known->entries[number - 1].inode != file->inode || known->entries[number - 1].device != file->device))
        continue;
    return number != 0 ? &known->entries[number - 1] : NULL;
}

/* A time in the future is returned as it is: it proves nothing either way. */
uint64_t known_files_settled(const struct file_identity *file)
{
    uint64_t now_ns = clock_wall_ns();

    return file->changed_ns <= now_ns && now_ns - file->changed_ns < SETTLED_NS ? 0 : file->changed_ns;
}

static void release(struct known_files *known, struct known_file *entry)
{
    if (entry->charged)
        work_give(known->work, entry->user, WORK_FILES, 1);
    entry->charged = false;
}

/* Charges a file that is no ring to its owner, and releases what was charged before. */
static bool charge(struct known_files *known, struct known_file *entry, uint32_t user)
{
    if (entry->user != user) {
        known_files_unlist(known, entry);
        release(known, entry);
        entry->user = user;
    }
    if (entry->ring != NULL)
        release(known, entry);
    else if (!entry->charged)
        entry->charged = work_take(known->work, user, WORK_FILES, 1);
    return entry->ring != NULL || entry->charged;
}

struct known_file *known_files_set(struct known_files *known, const struct file_identity *file, struct ring *ring,
                                   uint32_t pass)
{
    const uint32_t user = work_user(known->work, file->uid);
    struct known_file *entry = known_files_find(known, file);

    if (entry == NULL) {
        if (ring == NULL && !work_has_room(known->work, user, WORK_FILES, 1)) {
            work_refuse(known->work, user, WORK_FILES, 1);
            return NULL;
        }
        if (!ARRAY_GROW(known->entries, known->count, known->capacity))
            return NULL;
        if (!hash_index_add(&known->index, hash_of(known, file->device, file->inode), (uint32_t)known->count + 1))
            return NULL;
        entry = &known->entries[known->count++];
        *entry = (struct known_file){.device = file->device, .inode = file->inode};
    }
    entry->changed_ns = known_files_settled(file);
    entry->size_bytes = file->size_bytes;
    entry->ring = ring;
    entry->pass = pass;
    return charge(known, entry, user) ? entry : NULL;
}

void known_files_unlist(struct known_files *known, struct known_file *file)
{
    if (file == NULL || file->unreadable == NULL)
        return;
    work_give(known->work, file->user, WORK_UNREADABLE, 1);
    free(file->unreadable);
    file->unreadable = NULL;
    known->unreadable_count--;
}

void known_files_sweep(struct known_files *known, uint32_t pass)
{
    size_t kept = 0;

    hash_index_clear(&known->index);
    for (size_t i = 0; i < known->count; i++) {
        struct known_file entry = known->entries[i];

        if (entry.ring == NULL && (entry.pass != pass || !entry.charged)) {
            known_files_unlist(known, &entry);
            release(known, &entry);
            continue;
        }
        known->entries[kept++] = entry;
        hash_index_add(&known->index, hash_of(known, entry.device, entry.inode), (uint32_t)kept); /* has room */
    }
    known->count = kept;
    ARRAY_TRIM(known->entries, known->capacity, kept);
}

void known_files_done(struct known_files *known)
{
    for (size_t i = 0; i < known->count; i++) {
        known_files_unlist(known, &known->entries[i]);
        release(known, &known->entries[i]);
    }
    free(known->entries);
    free(known->index.places);
}
