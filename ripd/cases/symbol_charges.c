/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_charges.c - see symbol_charges.h. Pure, apart from the atomic that a charge and its table share. */
#include "cases/symbol_charges.h"

#include <errno.h>
#include <stdlib.h>

static struct symbol_charge *charge_of(struct symbol_charges *charges, uint32_t user, struct symbol_table *table)
{
    struct symbol_charge *charge = table->charge;

    if (charge != NULL)
        return charge;
    charge = calloc(1, sizeof(*charge));
    if (charge == NULL)
        return NULL;
    charge->user = user;
    charge->next = charges->first;
    charges->first = table->charge = charge;
    return charge;
}

int symbol_charges_add(struct symbol_charges *charges, uint32_t user, struct symbol_table *table, uint64_t offset,
                       struct symbol *symbol)
{
    struct symbol_charge *charge = symbol != NULL ? charge_of(charges, user, table) : NULL;
    size_t bytes = symbol != NULL ? symbol_table_cost(table, symbol) : 0;
    int result = charge != NULL ? 0 : -ENOMEM;

    if (result == 0 && !work_take(charges->work, charge->user, charges->limit, bytes))
        result = -ENOSPC;
    if (result != 0) {
        free(symbol);
        return result;
    }
    result = symbol_table_add(table, offset, symbol);
    if (result != 0) {
        work_give(charges->work, charge->user, charges->limit, bytes);
        return result;
    }
    charge->bytes += bytes;
    charges->bytes += bytes;
    return 0;
}

static void give_back(struct symbol_charges *charges, bool all)
{
    struct symbol_charge **link = &charges->first;

    while (*link != NULL) {
        struct symbol_charge *charge = *link;

        /* acquire: pairs with the release in symbol_charge_end() */
        if (!all && atomic_load_explicit(&charge->end_count, memory_order_acquire) == 0) {
            link = &charge->next;
            continue;
        }
        work_give(charges->work, charge->user, charges->limit, charge->bytes);
        charges->bytes -= charge->bytes;
        *link = charge->next;
        symbol_charge_end(charge);
    }
}

void symbol_charges_settle(struct symbol_charges *charges)
{
    give_back(charges, false);
}

void symbol_charges_done(struct symbol_charges *charges)
{
    give_back(charges, true);
}
