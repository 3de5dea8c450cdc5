/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol.h - the name of an offset in a module: function, file and line, and the functions it was inlined into. Pure,
 * apart from the atomics of a table.
 *
 * A module's symbols are found out one by one, by one thread, while others already show the module. So they stand in a
 * table beside it to which entries are only added.
 *
 * Guarantees
 *   A. symbol_table_find() may be called by any thread at any time while the table lives; what it returns is constant
 *      and lives as long as the table.
 *   B. symbol_table_add() is called by one thread at a time. It never moves or changes what readers may hold.
 *   C. A table holds at most SYMBOL_TABLE_MAX entries, and takes none once it has SYMBOL_TABLE_BYTES_MAX.
 */
#ifndef RIPD_CASES_SYMBOL_H
#define RIPD_CASES_SYMBOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"

#define SYMBOL_TABLE_MAX 16384u
#define SYMBOL_TABLE_BYTES_MAX ((size_t)16 << 20) /* a kilobyte for each; most have a tenth of it */
#define SYMBOL_FRAMES_MAX 16u
#define SYMBOL_TEXT_BYTES_MAX 4096u /* of one name */

struct symbol_frame {
    const char *function; /* NULL = not known */
    const char *file;     /* NULL = not known; as the debug information has it */
    uint32_t line;        /* 0 = not known */
};

/* An offset: frames[0] is where it is, the others are what that was inlined into, inside out. */
struct symbol {
    struct symbol *next; /* this and the next one are its table's */
    uint64_t offset;
    size_t frame_count; /* 0: it was looked up, and nothing is known */
    struct symbol_frame frames[];
};

/*
 * The frame that is its location: the first one outside of system headers. What a header of the C++ library inlines is
 * where nobody looks for his own code. frame_count must not be 0.
 */
size_t symbol_place(const struct symbol *symbol);

/* A copy in one piece, for free(). NULL: no memory. Frames and texts beyond the limits are cut. */
struct symbol *symbol_new(const struct symbol_frame *frames, size_t frame_count);

/* For symbol_charges.c: of one table. It and its charges both have it, and it goes with the later one. */
struct symbol_charge {
    struct symbol_charge *next;
    uint32_t user;
    uint64_t bytes;
    atomic_uint end_count; /* 1: the table is gone, or the charges are */
};
void symbol_charge_end(struct symbol_charge *charge);

struct symbol_buckets; /* private */

struct symbol_table {
    struct hash_key hash_key; /* set before anything is added */
    _Atomic(struct symbol_buckets *) buckets;
    atomic_bool full;             /* for good: nothing is ever taken out */
    size_t count;                 /* this and the rest are the adding thread's */
    size_t bytes;                 /* of its own, and of what is in it */
    struct symbol_charge *charge; /* of symbol_charges_add(); NULL = none */
};

/* All zero is an empty table. */
void symbol_table_done(struct symbol_table *table);

/* NULL: not looked up yet. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t offset);

/* Whether an entry more will never be taken. Any thread. */
bool symbol_table_is_full(const struct symbol_table *table);

/* Memory that adding this would take, its own included. */
size_t symbol_table_cost(const struct symbol_table *table, const struct symbol *symbol);

/* Takes symbol over, also on failure. -ENOMEM; -ENOSPC: the table is full; -EEXIST: it has that offset. */
int symbol_table_add(struct symbol_table *table, uint64_t offset, struct symbol *symbol);

#endif
