/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol.h - the name of an offset in a module: function, file and line, and the functions it is inlined into. Pure,
 * except for the atomics of a table.
 *
 * One thread looks up the symbols of a module one by one, while other threads already show the module. So the symbols
 * are in a table beside the module, to which entries are only added.
 *
 * Guarantees
 *   A. Any thread may call symbol_table_find() at any time while the table lives. The result is constant and lives as
 *      long as the table.
 *   B. Only one thread at a time calls symbol_table_add(). It never moves or changes what readers may hold.
 *   C. A table holds at most SYMBOL_TABLE_MAX entries, and takes no more when it has reached SYMBOL_TABLE_BYTES_MAX.
 */
#ifndef RIPD_CASES_SYMBOL_H
#define RIPD_CASES_SYMBOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hash.h"

#define SYMBOL_TABLE_MAX 16384u
#define SYMBOL_TABLE_BYTES_MAX ((size_t)16 << 20) /* 1 KB for each entry; most need a tenth of that */
#define SYMBOL_FRAMES_MAX 16u
#define SYMBOL_TEXT_BYTES_MAX 4096u /* of one name */

struct symbol_frame {
    const char *function; /* NULL: not known */
    const char *file;     /* as in the debug information; NULL: not known */
    uint32_t line;        /* 0: not known */
};

/* The names of an offset: frames[0] is the innermost function, followed by the functions it is inlined into. */
struct symbol {
    struct symbol *next; /* next and offset belong to the table */
    uint64_t offset;
    size_t frame_count; /* 0: looked up, and nothing found */
    struct symbol_frame frames[];
};

/*
 * Returns the index of the frame to show as the location: the first one outside of system headers, because users do not
 * look for their own code in an inlined function of the C++ library. frame_count must not be 0.
 */
size_t symbol_place(const struct symbol *symbol);

/*
 * Returns a copy in one allocation, for free(), or NULL if out of memory. Frames and texts beyond the limits are cut.
 */
struct symbol *symbol_new(const struct symbol_frame *frames, size_t frame_count);

/*
 * For symbol_charges.c: the charge of one table. Both the table and the charges refer to it; the one that ends last
 * frees it.
 */
struct symbol_charge {
    struct symbol_charge *next;
    uint32_t user;
    uint64_t bytes;
    atomic_uint end_count; /* 1: either the table or the charges have ended */
};
void symbol_charge_end(struct symbol_charge *charge);

struct symbol_buckets; /* private */

struct symbol_table {
    struct hash_key hash_key; /* set before anything is added */
    _Atomic(struct symbol_buckets *) buckets;
    atomic_bool full;             /* never cleared: nothing is removed */
    size_t count;                 /* this and the rest: only for the adding thread */
    size_t bytes;                 /* of the table and its entries */
    struct symbol_charge *charge; /* set by symbol_charges_add(); NULL: none */
};

/* A table with all bytes zero is empty. */
void symbol_table_done(struct symbol_table *table);

/* Returns NULL if the offset was not looked up yet. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t offset);

/* Whether the table takes no more entries. Any thread. */
bool symbol_table_is_full(const struct symbol_table *table);

/* Returns the memory that adding this would take, including the symbol itself. */
size_t symbol_table_cost(const struct symbol_table *table, const struct symbol *symbol);

/*
 * Takes ownership of symbol, also on failure. Returns 0, -ENOMEM, -ENOSPC if the table is full, or -EEXIST if it has
 * that offset.
 */
int symbol_table_add(struct symbol_table *table, uint64_t offset, struct symbol *symbol);

#endif
