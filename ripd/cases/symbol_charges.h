/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_charges.h - charges the memory of symbol tables to users.
 *
 * A table is freed with its last reference, on any thread. Until then its bytes stay charged, even if its module is
 * gone. Only one thread at a time may use the charges.
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

/* Like symbol_table_add(). Returns -ENOSPC also if the user has no quota. */
int symbol_charges_add(struct symbol_charges *charges, uint32_t user, struct symbol_table *table, uint64_t offset,
                       struct symbol *symbol);
/* Gives back the charges of tables that were freed. */
void symbol_charges_settle(struct symbol_charges *charges);
/* Gives back all charges. Tables may still exist; nothing is added to them any more. */
void symbol_charges_done(struct symbol_charges *charges);

#endif
