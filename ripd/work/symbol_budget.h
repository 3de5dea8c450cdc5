/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbol_budget.h - how much memory the names of all modules may take together, shared out between users. Pure, apart
 * from the atomics.
 *
 * Names come out of files that anybody may have made, so their number and length are whatever he wants.
 *
 * Guarantees
 *   A. Names are added only while all together take less than SYMBOL_BUDGET_BYTES; that is overrun by one answer.
 *   B. A user may add while he has less than what is free: alone he gets half, and whatever others have taken, there is
 *      something left for the next one. (Users share SYMBOL_BUDGET_SHARES shares by a hash of their uid.)
 *   C. One thread charges at a time; any may refund, and look.
 */
#ifndef RIPD_WORK_SYMBOL_BUDGET_H
#define RIPD_WORK_SYMBOL_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOL_BUDGET_BYTES ((size_t)256 << 20)
#define SYMBOL_BUDGET_SHARES 64u

struct symbol_budget;

/* One reference, nothing charged; NULL: no memory. It outlives its maker with the tables that it was charged for. */
struct symbol_budget *symbol_budget_new(void);
struct symbol_budget *symbol_budget_ref(struct symbol_budget *budget);
void symbol_budget_unref(struct symbol_budget *budget); /* NULL is allowed */

/* Whether that user may not add any more for now. */
bool symbol_budget_is_spent(const struct symbol_budget *budget, uint32_t uid);

void symbol_budget_charge(struct symbol_budget *budget, uint32_t uid, size_t bytes);
void symbol_budget_refund(struct symbol_budget *budget, uint32_t uid, size_t bytes);

/* What all users have. */
size_t symbol_budget_bytes(const struct symbol_budget *budget);

#endif
