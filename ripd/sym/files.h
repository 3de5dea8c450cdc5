/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - which files the symbolizer has open, and which it is not asked about again. For ripd/sym alone.
 *
 * A file is told by the user whose ring names it, and its build id; without one, by its process, its path and where it
 * is mapped. So a file that somebody made up does not lend its names to another user's rings.
 */
#ifndef RIPD_SYM_FILES_H
#define RIPD_SYM_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/snapshot.h"
#include "sym/protocol.h"
#include "util/hash.h"

struct sym_file {
    struct sym_file *chain;
    uint64_t key;            /* never used again for another */
    uint32_t uid;            /* owner of the ring */
    uint32_t pid;            /* 0 where the build id tells; as the next two */
    uint64_t process_start;  /* in ticks: which process had that pid */
    uint64_t start;          /* where it is mapped */
    bool open;               /* the symbolizer has it, unless it had to close it */
    unsigned strikes;        /* symbolizers that ended over it */
    bool unavailable;        /* it was not to be had, */
    uint32_t unavailable_to; /* by way of the process of this pid: another one may have it */
    uint64_t not_before_ns;  /* when it is tried again, if it was not to be had then, and may be soon */
    char name[];             /* build id, or path */
};

#define SYM_FILE_BUCKETS 256u

/* All zero = empty. */
struct sym_files {
    struct hash_key hash_key; /* set before anything is in it */
    struct sym_file *buckets[SYM_FILE_BUCKETS];
    size_t count; /* at most SYMBOLS_FILES_MAX: then all are forgotten */
    uint64_t last_key;
};

/* The file of a module, new if need be. NULL: no memory. */
struct sym_file *files_find(struct sym_files *files, const struct process_facts *process,
                            const struct module_facts *module);

/* The symbolizer is another one: it has none of them. */
void files_close_all(struct sym_files *files);
void files_done(struct sym_files *files);

/* The build id of a module as bytes; returns how many, 0 = it has none. */
uint32_t files_build_id(const struct module_facts *module, uint8_t ret_bytes[SYM_BUILD_ID_BYTES]);

#endif
