/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open_files.h - which files the symbolizer keeps open, and when they have to go for the memory that they take.
 *
 * To open a file is what takes time: libdw decompresses its debug information, all of it, and keeps it. Each address
 * in a unit not seen before adds what libdw makes of that unit. Both go when the file is closed, and not before.
 *
 * Guarantees
 *   A. At most OPEN_FILES_MAX are open. Another one makes those used least go, until at most OPEN_FILES_CROWDED_BYTES
 *      are in use, or but one of them is left: so two large files that are asked about in turn both stay.
 *   B. When looking things up has added OPEN_FILES_GROWTH_BYTES, all are closed.
 */
#ifndef RIPD_SYM_CHILD_OPEN_FILES_H
#define RIPD_SYM_CHILD_OPEN_FILES_H

#include <stddef.h>
#include <stdint.h>

struct lookup;

#define OPEN_FILES_MAX 24u
#define OPEN_FILES_CROWDED_BYTES (UINT64_C(256) << 20) /* anonymous memory; the files themselves are mapped */
#define OPEN_FILES_GROWTH_BYTES (UINT64_C(256) << 20)

/* All zero = none. */
struct open_files {
    struct open_file {
        struct lookup *lookup; /* NULL = free */
        uint64_t key;
        uint64_t last_used;
    } files[OPEN_FILES_MAX];
    uint64_t uses;
    uint64_t seen_bytes;  /* in use when that was looked at last */
    uint64_t grown_bytes; /* that looks have added since all were closed */
};

/* To look something up in it. NULL: it is not open, or not any more. */
struct lookup *open_files_find(struct open_files *files, uint64_t key);

/* As lookup_open(), and keeps it; in place of one with that key. */
int open_files_add(struct open_files *files, uint64_t key, int descriptor, const char *path, const uint8_t *build_id,
                   size_t build_id_bytes);

/* All memory goes back. */
void open_files_close(struct open_files *files);

#endif
