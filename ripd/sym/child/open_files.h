/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_files.h - the files that the symbolizer keeps open, and when they are closed to save memory.
 *
 * Opening a file is slow, because libdw decompresses all of its debug information and keeps it. Each address in a unit
 * that was not used before adds libdw's data for that unit. This memory is released only when the file is closed.
 *
 * Guarantees
 *   A. At most OPEN_FILES_MAX are open. Before another file is opened, those used least recently are closed, until at
 *      most OPEN_FILES_CROWDED_BYTES are in use or only one file is left. So two large files that are queried in turn
 *      both stay open.
 *   B. When look-ups have added OPEN_FILES_GROWTH_BYTES, all files are closed.
 */
#ifndef RIPD_SYM_CHILD_OPEN_FILES_H
#define RIPD_SYM_CHILD_OPEN_FILES_H

#include <stddef.h>
#include <stdint.h>

struct lookup;

#define OPEN_FILES_MAX 24u
#define OPEN_FILES_CROWDED_BYTES (UINT64_C(256) << 20) /* anonymous memory; the files are mapped */
#define OPEN_FILES_GROWTH_BYTES (UINT64_C(256) << 20)

/* All zero = none. */
struct open_files {
    struct open_file {
        struct lookup *lookup; /* NULL = free */
        uint64_t key;
        uint64_t last_used;
    } files[OPEN_FILES_MAX];
    uint64_t uses;
    uint64_t seen_bytes;  /* memory in use when last measured */
    uint64_t grown_bytes; /* added by look-ups since all files were closed */
};

/* Returns the file for a look-up, or NULL if it is not open, or not any more. */
struct lookup *open_files_find(struct open_files *files, uint64_t key);

/* Like lookup_open(), and keeps the file. Replaces a file with the same key. */
int open_files_add(struct open_files *files, uint64_t key, int descriptor, const char *path, const uint8_t *build_id,
                   size_t build_id_bytes);

/* Closes all files and releases all memory. */
void open_files_close(struct open_files *files);

#endif
