/* SPDX-License-Identifier: Apache-2.0 */
/* test_random.c - random numbers differ: ripd/os/random.c. */
#include "os/random.h"
#include "support/test.h"

TEST(all_differ)
{
    uint64_t numbers[256];

    for (size_t i = 0; i < 256; i++) {
        numbers[i] = random_u64();
        for (size_t j = 0; j < i; j++)
            assert_true(numbers[i] != numbers[j]);
    }
}
