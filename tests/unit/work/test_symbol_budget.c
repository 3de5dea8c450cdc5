/* SPDX-License-Identifier: Apache-2.0 */
/* test_symbol_budget.c - who may have how much: ripd/work/symbol_budget.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "work/symbol_budget.h"

#define STEP ((size_t)1 << 16)

/* Takes until no more may be taken; returns how much. */
static size_t take_all(struct symbol_budget *budget, uint32_t uid)
{
    size_t taken = 0;

    for (; !symbol_budget_is_spent(budget, uid); taken += STEP)
        symbol_budget_charge(budget, uid, STEP);
    return taken;
}

static void test_each_has_something(void **state)
{
    struct symbol_budget *budget = symbol_budget_new();
    size_t left = SYMBOL_BUDGET_BYTES;

    (void)state;
    for (uint32_t uid = 1000; uid < 1010; uid++) {
        size_t taken = take_all(budget, uid);

        assert_in_range(taken, left / 2, left / 2 + STEP);
        left -= taken;
        assert_int_equal(symbol_budget_bytes(budget), SYMBOL_BUDGET_BYTES - left);
    }
    for (uint32_t uid = 0; uid < 5000; uid++)
        take_all(budget, uid);
    assert_true(symbol_budget_bytes(budget) <= SYMBOL_BUDGET_BYTES + STEP);
    symbol_budget_unref(budget);
}

static void test_what_comes_back(void **state)
{
    struct symbol_budget *budget = symbol_budget_new();
    size_t taken = take_all(budget, 1);

    (void)state;
    symbol_budget_refund(budget, 1, taken);
    assert_int_equal(symbol_budget_bytes(budget), 0);
    assert_int_equal(take_all(budget, 1), taken);
    assert_true(symbol_budget_is_spent(symbol_budget_ref(budget), 1));
    symbol_budget_unref(budget);
    symbol_budget_unref(budget);
    symbol_budget_unref(NULL);
}

/* What was charged in one go may be more than there is. */
static void test_too_much(void **state)
{
    struct symbol_budget *budget = symbol_budget_new();

    (void)state;
    symbol_budget_charge(budget, 1, 2 * SYMBOL_BUDGET_BYTES);
    assert_true(symbol_budget_is_spent(budget, 1));
    assert_true(symbol_budget_is_spent(budget, 2));
    symbol_budget_refund(budget, 1, 2 * SYMBOL_BUDGET_BYTES);
    assert_false(symbol_budget_is_spent(budget, 2));
    symbol_budget_unref(budget);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_has_something),
        cmocka_unit_test(test_what_comes_back),
        cmocka_unit_test(test_too_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
