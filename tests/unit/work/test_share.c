/* SPDX-License-Identifier: Apache-2.0 */
/* test_share.c - how much of a limit each ring may take: ripd/work/share.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "work/share.h"

enum { SUSPECTS = 1000 };

static struct detector_suspect suspects[SUSPECTS];

/* Rings of so many suspects each; returns how many there are. */
static size_t make(const size_t *counts, size_t ring_count)
{
    size_t made = 0;

    for (size_t ring = 0; ring < ring_count; ring++)
        for (size_t i = 0; i < counts[ring]; i++, made++)
            suspects[made] = (struct detector_suspect){
                .ring = (uint32_t)ring + 1, .slot = (uint32_t)i, .state = i % 2 == 0 ? ID_STALLED : ID_STOPPED};
    return made;
}

static bool is_stalled(const struct detector_suspect *suspect)
{
    return suspect->state == ID_STALLED;
}

static void test_shares(void **state)
{
    const size_t counts[] = {900, 2, 40, 10};
    const size_t count = make(counts, 4);

    (void)state;
    assert_int_equal(share_of_ring(suspects, count, NULL, count), count);
    assert_int_equal(share_of_ring(suspects, count, NULL, 2000), 2000);
    assert_int_equal(share_of_ring(suspects, count, NULL, 100), 48); /* 48 + 2 + 40 + 10 */
    assert_int_equal(share_of_ring(suspects, count, NULL, 32), 10);  /* 10 + 2 + 10 + 10 */
    assert_int_equal(share_of_ring(suspects, count, NULL, 3), 0);
    assert_int_equal(share_of_ring(suspects, count, is_stalled, 100), 74); /* 74 + 1 + 20 + 5 */
    assert_int_equal(share_of_ring(suspects, 0, NULL, 5), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares)};

    return cmocka_run_group_tests_name("share", tests, NULL, NULL);
}
