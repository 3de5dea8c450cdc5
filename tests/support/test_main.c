/* SPDX-License-Identifier: Apache-2.0 */
/* test_main.c - main() of the programs of tests that have none. Its argument is a pattern for names of tests: a_*. */
#include "support/test.h"

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return tests_run(NULL, NULL);
}
