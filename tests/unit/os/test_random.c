/* SPDX-License-Identifier: Apache-2.0 */
/* test_random.c - numbers that do not come twice: ripd/os/random.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "os/random.h"

static void test_all_differ(void **state)
{
    uint64_t numbers[256];

    (void)state;
    for (size_t i = 0; i < 256; i++) {
        numbers[i] = random_u64();
        for (size_t j = 0; j < i; j++)
            assert_true(numbers[i] != numbers[j]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_differ)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
