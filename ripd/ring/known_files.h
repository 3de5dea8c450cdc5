/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_files.h - the files that were already examined, and which of them are unreadable rings. A file is not opened
 * again before it changes. For ripd/ring alone.
 */
#ifndef RIPD_RING_KNOWN_FILES_H
#define RIPD_RING_KNOWN_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "os/file.h"
#include "util/hash.h"
#include "util/hash_index.h"
#include "work/work.h"

struct ring;

/* A ring that cannot be read, as it is listed. */
struct unreadable {
    uint32_t serial; /* from the same sequence as serials of rings */
    uint32_t directory;
    uint32_t uid;
    enum ring_health health;
    const char *reason; /* static */
    char name[];
};

struct known_file {
    uint64_t device;
    uint64_t inode;
    uint64_t changed_ns; /* 0 = look again: it may have changed later in the same clock tick */
    uint64_t size_bytes;
    struct ring *ring;             /* NULL = not a ring that we can read */
    uint32_t pass;                 /* the last full listing that saw it */
    uint32_t user;                 /* the account of its owner */
    bool charged;                  /* to that account, as WORK_FILES */
    struct unreadable *unreadable; /* charged as WORK_UNREADABLE; NULL = not listed */
};

/* All zero at first, except the key and the accounts. */
struct known_files {
    struct hash_key hash_key;
    struct work *work; /* borrowed */
    struct known_file *entries;
    size_t capacity;
    size_t count;
    size_t unreadable_count;
    struct hash_index index;
};

/* Returns NULL if the file is not known. The entry is valid until the next call of another function. */
struct known_file *known_files_find(const struct known_files *known, const struct file_identity *file);

/*
 * Remembers a file as it is now. An entry in the list of unreadable rings is kept, unless the file has another owner.
 * Returns NULL if out of memory, or if the file is no ring and its owner has no quota: the next sweep forgets the file.
 */
struct known_file *known_files_set(struct known_files *known, const struct file_identity *file, struct ring *ring,
                                   uint32_t pass);

/*
 * Returns the time of the last change of a file. Returns 0 if it is so recent that a second change could have the same
 * time stamp.
 */
uint64_t known_files_settled(const struct file_identity *file);

/* Removes a file from the list of unreadable rings. file may be NULL. */
void known_files_unlist(struct known_files *known, struct known_file *file);

/* Forgets files that are not rings and were not seen by this pass, or are not charged. */
void known_files_sweep(struct known_files *known, uint32_t pass);
void known_files_done(struct known_files *known);

#endif
