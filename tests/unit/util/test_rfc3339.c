/* SPDX-License-Identifier: Apache-2.0 */
/* test_rfc3339.c - times as people copy them: ripd/util/rfc3339.c. */
#include <errno.h>
#include <string.h>

#include "support/test.h"
#include "util/rfc3339.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The seconds are those of date -u +%s. */
TEST(accepted)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } rows[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:00.000000001Z", 1},
        {"2026-11-20T09:41:07.120Z", UINT64_C(1795167667120000000)},
        {"2026-11-20t09:41:07.1200000009z", UINT64_C(1795167667120000000)},
        {"2026-11-20 09:41:07Z", UINT64_C(1795167667000000000)},
        {"2026-11-20T10:41:07+01:00", UINT64_C(1795167667000000000)},
        {"2026-11-20T10:41:07 01:00", UINT64_C(1795167667000000000)},
        {"2026-11-20T04:11:07-05:30", UINT64_C(1795167667000000000)},
        {"2000-02-29T23:59:59Z", UINT64_C(951868799000000000)},
        {"2024-03-01T00:00:00Z", UINT64_C(1709251200000000000)},
        {"2100-03-01T00:00:00Z", UINT64_C(4107542400000000000)},
        {"2016-12-31T23:59:60Z", UINT64_C(1483228800000000000)},
        {"2500-12-31T23:59:59Z", UINT64_C(16756761599000000000)},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t ns = 42;

        assert_int_equal(rfc3339_parse(rows[i].text, &ns), 0);
        assert_int_equal(ns, rows[i].ns);
    }
}

TEST(refused)
{
    static const char *const texts[] = {
        "",
        "10m",
        "2026-11-20",
        "2026-11-20T09:41Z",
        "2026-11-20T09:41:07",
        "2026-11-20T09:41:07.Z",
        "2026-11-20T09:41:07Zx",
        "2026-11-20T09:41:07+0100",
        "2026-11-20T09:41:07+24:00",
        "2026-11-20T24:00:00Z",
        "2026-11-20T09:60:00Z",
        "2026-11-20T09:41:61Z",
        "2026-11-31T09:41:07Z",
        "2026-00-20T09:41:07Z",
        "2026-13-20T09:41:07Z",
        "2025-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01",
        "2501-01-01T00:00:00Z",
        "-026-11-20T09:41:07Z",
        " 2026-11-20T09:41:07Z",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        uint64_t ns = 42;

        if (rfc3339_parse(texts[i], &ns) != -EINVAL)
            fail_msg("%s is accepted", texts[i]);
        assert_int_equal(ns, 42);
    }
}
