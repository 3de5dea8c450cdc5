/* SPDX-License-Identifier: Apache-2.0 */
/* test.c - see test.h. */
#include "support/test.h"

#include <errno.h>
#include <stdio.h>

#define TESTS_MAX 256u

static struct registered_test *entries;

void tests_add(struct registered_test *entry)
{
    struct registered_test **place = &entries;

    /* By line, because the order of constructors is not guaranteed. */
    while (*place != NULL && (*place)->line <= entry->line)
        place = &(*place)->next;
    entry->next = *place;
    *place = entry;
}

int tests_run(CMFixtureFunction set_up, CMFixtureFunction tear_down)
{
    struct CMUnitTest tests[TESTS_MAX] = {0}; /* cmocka skips entries without a name */
    size_t count = 0;

    for (const struct registered_test *entry = entries; entry != NULL && count < TESTS_MAX; entry = entry->next)
        tests[count++] = entry->test;
    if (count == 0 || count == TESTS_MAX) {
        fprintf(stderr, "%zu tests: expected 1 to %u\n", count, TESTS_MAX - 1);
        return 1;
    }
    return cmocka_run_group_tests_name(program_invocation_short_name, tests, set_up, tear_down);
}
