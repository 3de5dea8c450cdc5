/* SPDX-License-Identifier: Apache-2.0 */
/* test_supervision.c - the texts for the service manager: ripd/app/supervision.c. */
#include <string.h>

#include "app/supervision.h"
#include "support/test.h"

#define MS UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)
#define USUAL_STATUS "STATUS=3 stalled of 1,204 ids in 4 rings; last scan 0.4 ms\n"

static struct supervision supervision;

static struct snapshot scan_of(uint64_t stall_count, uint64_t id_count, size_t ring_count, uint64_t duration_ns)
{
    return (struct snapshot){.counts[ID_STALLED] = stall_count,
                             .health.id_count = id_count,
                             .ring_count = ring_count,
                             .scan_duration_ns = duration_ns,
                             .interval_ns = SECOND_NS};
}

static struct snapshot usual_scan(void)
{
    return scan_of(3, 1204, 4, 400 * 1000);
}

static void assert_scan(uint64_t now_ns, const struct snapshot *scan, const char *expected)
{
    supervision_scanned(&supervision, now_ns, scan);
    assert_string_equal(supervision.text, expected);
}

static void assert_reload(uint64_t interval_ns, const char *expected)
{
    supervision_reloading(&supervision, 123456789);
    assert_string_equal(supervision.text, "RELOADING=1\nMONOTONIC_USEC=123456\n");
    supervision_reloaded(&supervision, interval_ns);
    assert_string_equal(supervision.text, expected);
}

TEST(the_first_scan_is_ready)
{
    struct snapshot scan = usual_scan();

    supervision_init(&supervision, 30 * SECOND_NS);
    assert_scan(100 * SECOND_NS, &scan, "READY=1\nWATCHDOG=1\n" USUAL_STATUS);
    assert_scan(110 * SECOND_NS, &scan, "WATCHDOG=1\n");
    supervision_init(&supervision, 0); /* no watchdog */
    assert_scan(100 * SECOND_NS, &scan, "READY=1\n" USUAL_STATUS);
    assert_scan(110 * SECOND_NS, &scan, "");
}

/* A ping after an eighth of the time of the watchdog; or with each scan, if the time is as short as possible. */
TEST(pings)
{
    struct snapshot scan = usual_scan();
    size_t count = 0;

    supervision_init(&supervision, 30 * SECOND_NS);
    for (uint64_t now_ns = SECOND_NS; now_ns <= 300 * SECOND_NS; now_ns += 50 * MS) {
        supervision_scanned(&supervision, now_ns, &scan);
        count += strstr(supervision.text, "WATCHDOG=1\n") != NULL;
    }
    assert_in_range(count, 79, 81);
    supervision_init(&supervision, 3 * SECOND_NS); /* the shortest time */
    for (uint64_t i = 0; i < 10; i++) {
        supervision_scanned(&supervision, i * SECOND_NS, &scan);
        assert_non_null(strstr(supervision.text, "WATCHDOG=1\n"));
    }
}

TEST(a_watchdog_that_is_too_short)
{
    struct snapshot scan = usual_scan();

    supervision_init(&supervision, 3 * SECOND_NS - 1);
    scan.counts[ID_STALLED] = 0;
    assert_scan(0, &scan,
                "READY=1\nWATCHDOG_USEC=3000000\nWATCHDOG=1\n"
                "STATUS=0 stalled of 1,204 ids in 4 rings; last scan 0.4 ms\n");
    assert_int_equal(supervision.watchdog_ns, 3 * SECOND_NS);
    assert_scan(SECOND_NS, &scan, "WATCHDOG=1\n"); /* once */
    supervision_init(&supervision, 3 * SECOND_NS);
    supervision_scanned(&supervision, 0, &scan);
    assert_null(strstr(supervision.text, "WATCHDOG_USEC"));
    assert_reload(3600 * SECOND_NS, "READY=1\nWATCHDOG_USEC=10800000000\n");
    assert_reload(SECOND_NS, "READY=1\nWATCHDOG_USEC=3000000\n"); /* the original time again */
    supervision_init(&supervision, 0);
    assert_reload(3600 * SECOND_NS, "READY=1\n");
}

TEST(status_is_limited_in_rate)
{
    struct snapshot scan = usual_scan();

    supervision_init(&supervision, 0);
    scan = scan_of(0, 1, 1, 1234567890);
    assert_scan(0, &scan, "READY=1\nSTATUS=0 stalled of 1 id in 1 ring; last scan 1234.6 ms\n");
    scan.counts[ID_STALLED] = 1; /* at most once a second */
    assert_scan(999 * MS, &scan, "");
    assert_scan(SECOND_NS, &scan, "STATUS=1 stalled of 1 id in 1 ring; last scan 1234.6 ms\n");
    scan.health.id_count = 1000; /* at most once in ten seconds */
    scan.scan_duration_ns = 49999;
    assert_scan(10999 * MS, &scan, "");
    assert_scan(11 * SECOND_NS, &scan, "STATUS=1 stalled of 1,000 ids in 1 ring; last scan 0.0 ms\n");
    assert_scan(100 * SECOND_NS, &scan, ""); /* nothing new */
    scan = scan_of(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX - SECOND_NS);
    assert_scan(200 * SECOND_NS, &scan,
                "STATUS=18,446,744,073,709,551,615 stalled of 18,446,744,073,709,551,615 ids in "
                "18,446,744,073,709,551,615 rings; last scan 18446744072709.6 ms\n");
}

/* A text that was not sent is made again from the state before it. */
TEST(not_sent)
{
    struct snapshot scan = usual_scan();
    struct supervision before;

    supervision_init(&supervision, SECOND_NS);
    before = supervision;
    supervision_scanned(&supervision, 0, &scan);
    supervision_scanned(&before, 0, &scan);
    assert_string_equal(supervision.text, before.text);
    supervision_reloading(&supervision, 0);
    assert_scan(SECOND_NS, &scan, "READY=1\nWATCHDOG=1\n"); /* the text after the reload was lost */
    supervision_stopping(&supervision);
    assert_string_equal(supervision.text, "STOPPING=1\n");
}
