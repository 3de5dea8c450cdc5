/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_charges.h - what tables of names take, on the accounts of users.
 *
 * A table goes with its last reference, on any thread: until then its bytes are not free, whatever has become of that
 * to which it belonged. The charges are for one thread at a time.
 */
#ifndef RIPD_CASES_SYMBOL_CHARGES_H
#define RIPD_CASES_SYMBOL_CHARGES_H

#include "cases/symbol.h"
#include "work/work.h"

struct symbol_charges {
    struct work *work;
    enum work_limit limit;
    uint64_t bytes;              /* of all tables */
    struct symbol_charge *first; /* private */
};

/* As symbol_table_add(), and -ENOSPC: the user may not have so much. */
int symbol_charges_add(struct symbol_charges *charges, uint32_t user, struct symbol_table *table, uint64_t offset,
                       struct symbol *symbol);
/* Gives back what tables took that are gone. */
void symbol_charges_settle(struct symbol_charges *charges);
/* Gives back all. Tables may still be there, and nothing more is added to them. */
void symbol_charges_done(struct symbol_charges *charges);

#endif
