/* SPDX-License-Identifier: Apache-2.0 */
/* test_duration.c - parses durations: ripd/util/duration.c. */
#include <errno.h>
#include <string.h>

#include "support/test.h"
#include "util/duration.h"

TEST(accepted)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } cases[] = {
        {"250ms", 250000000},
        {"5s", 5000000000},
        {"2m", 120000000000},
        {"1h", 3600000000000},
        {"0s", 0},
        {"007s", 7000000000},
        {"2562047h", 9223369200000000000},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t ns = 1;

        assert_int_equal(duration_parse(cases[i].text, &ns), 0);
        assert_int_equal(ns, cases[i].ns);
    }
}

TEST(refused)
{
    static const char *const cases[] = {
        "",     "5",    "s",  "5 s",      " 5s",
        "-5s",  "+5s",  "5S", "5sec",     "1.5s",
        "5s5s", "0x5s", "5d", "2562048h", "99999999999999999999s",
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint64_t ns = 42;

        assert_int_equal(duration_parse(cases[i], &ns), -EINVAL);
        assert_int_equal(ns, 42);
    }
}
