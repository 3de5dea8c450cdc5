/* SPDX-License-Identifier: Apache-2.0 */
/* test_main.c - main() of test programs that have none. The argument is a pattern for test names, such as a_*. */
#include "support/test.h"

int main(int argc, char **argv)
{
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return tests_run(NULL, NULL);
}
