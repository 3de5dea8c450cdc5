/* SPDX-License-Identifier: Apache-2.0 */
/* symbol_budget.c - a sum and its parts. All accesses are relaxed: nothing else is told by them. */
#include "work/symbol_budget.h"

#include <stdatomic.h>
#include <stdlib.h>

struct symbol_budget {
    atomic_uint references;
    atomic_size_t bytes;
    atomic_size_t shares[SYMBOL_BUDGET_SHARES]; /* bytes of them */
};

static size_t share_of(uint32_t uid)
{
    return (size_t)((uid * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % SYMBOL_BUDGET_SHARES;
}

struct symbol_budget *symbol_budget_new(void)
{
    struct symbol_budget *budget = calloc(1, sizeof(*budget));

    if (budget != NULL)
        atomic_init(&budget->references, 1);
    return budget;
}

struct symbol_budget *symbol_budget_ref(struct symbol_budget *budget)
{
    atomic_fetch_add_explicit(&budget->references, 1, memory_order_relaxed);
    return budget;
}

void symbol_budget_unref(struct symbol_budget *budget)
{
    /* acq_rel: pairs with itself, so that the last one frees after all others */
    if (budget != NULL && atomic_fetch_sub_explicit(&budget->references, 1, memory_order_acq_rel) == 1)
        free(budget);
}

bool symbol_budget_is_spent(const struct symbol_budget *budget, uint32_t uid)
{
    size_t bytes = symbol_budget_bytes(budget),
           own = atomic_load_explicit(&budget->shares[share_of(uid)], memory_order_relaxed);

    return bytes >= SYMBOL_BUDGET_BYTES || own >= SYMBOL_BUDGET_BYTES - bytes;
}

void symbol_budget_charge(struct symbol_budget *budget, uint32_t uid, size_t bytes)
{
    atomic_fetch_add_explicit(&budget->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&budget->shares[share_of(uid)], bytes, memory_order_relaxed);
}

void symbol_budget_refund(struct symbol_budget *budget, uint32_t uid, size_t bytes)
{
    atomic_fetch_sub_explicit(&budget->bytes, bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&budget->shares[share_of(uid)], bytes, memory_order_relaxed);
}

size_t symbol_budget_bytes(const struct symbol_budget *budget)
{
    return atomic_load_explicit(&budget->bytes, memory_order_relaxed);
}
