/* SPDX-License-Identifier: Apache-2.0 */
/* known_files.h - the files already examined; none is opened again before it changes. For ripd/ring alone.
 */
#ifndef RIPD_RING_KNOWN_FILES_H
#define RIPD_RING_KNOWN_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "os/file.h"
#include "util/hash.h"
#include "util/hash_index.h"

struct ring;

struct known_file {
    uint64_t device;
    uint64_t inode;
    uint64_t changed_ns; /* as it was; 0 = look again, it may have changed since within one tick of the file's clock */
    uint64_t size_bytes;
    struct ring *ring; /* NULL = it is none that we can read */
    uint32_t pass;     /* the last full listing that saw it */
};

/* All zero but the key at first. */
struct known_files {
    struct hash_key hash_key;
    struct known_file *entries;
    size_t capacity;
    size_t count;
    struct hash_index index;
};

/* NULL: it is not known. Valid until the next call that is not this one. */
struct known_file *known_files_find(const struct known_files *known, const struct file_identity *file);

/* Remembers a file as it is now. NULL: no memory. */
struct known_file *known_files_set(struct known_files *known, const struct file_identity *file, struct ring *ring,
                                   uint32_t pass);

/* Forgets the files that are no rings and that the pass has not seen. */
void known_files_sweep(struct known_files *known, uint32_t pass);
void known_files_done(struct known_files *known);

#endif
