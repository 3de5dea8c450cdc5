/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_files.h - the files already examined: none is opened again before it changes; and which of them are rings that
 * cannot be read. For ripd/ring alone.
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

struct ring;

/* Why a file is listed as a ring that cannot be read. */
struct unreadable {
    uint32_t serial; /* as if it were a ring */
    uint32_t directory;
    uint32_t uid;
    enum ring_health health;
    const char *reason; /* static */
    char name[];
};

struct known_file {
    uint64_t device;
    uint64_t inode;
    uint64_t changed_ns; /* as it was; 0 = look again, it may have changed since within one tick of the file's clock */
    uint64_t size_bytes;
    struct ring *ring;             /* NULL = it is none that we can read */
    uint32_t pass;                 /* the last full listing that saw it */
    struct unreadable *unreadable; /* NULL = it is not listed */
};

/* All zero but the key at first. */
struct known_files {
    struct hash_key hash_key;
    struct known_file *entries;
    size_t capacity;
    size_t count;
    size_t unreadable_count;
    struct hash_index index;
};

/* NULL: it is not known. Valid until the next call that is not this one. */
struct known_file *known_files_find(const struct known_files *known, const struct file_identity *file);

/* Remembers a file as it is now; it stays listed if it is. NULL: no memory. */
struct known_file *known_files_set(struct known_files *known, const struct file_identity *file, struct ring *ring,
                                   uint32_t pass);

/* When a file has changed last, or 0: within one tick of its clock a second change would not show. */
uint64_t known_files_settled(const struct file_identity *file);

/* It is not listed any more; file may be NULL. */
void known_files_unlist(struct known_files *known, struct known_file *file);

/* Forgets the files that are no rings and that the pass has not seen. */
void known_files_sweep(struct known_files *known, uint32_t pass);
void known_files_done(struct known_files *known);

#endif
