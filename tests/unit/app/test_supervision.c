/* SPDX-License-Identifier: Apache-2.0 */
/* test_supervision.c - what the service manager receives, as transcripts: ripd/app/supervision.c. */
#include <string.h>

#include "app/supervision.h"
#include "support/test.h"

#define MS UINT64_C(1000000)
#define SECOND_NS UINT64_C(1000000000)

static struct snapshot scan_of(uint64_t stall_count, uint64_t id_count, size_t ring_count, uint64_t duration_ns)
{
    return (struct snapshot){.counts[ID_STALLED] = stall_count,
                             .health.id_count = id_count,
                             .ring_count = ring_count,
                             .scan_duration_ns = duration_ns,
                             .interval_ns = SECOND_NS};
}

static struct snapshot usual(void)
{
    return scan_of(3, 1204, 4, 400 * 1000);
}

static void assert_scan(struct supervision *supervision, uint64_t now_ns, const struct snapshot *scan,
                        const char *expected)
{
    supervision_scanned(supervision, now_ns, scan);
    assert_string_equal(supervision->text, expected);
}

TEST(the_first_scan_is_ready)
{
    struct snapshot scan = usual();
    struct supervision supervision;

    supervision_init(&supervision, 30 * SECOND_NS);
    assert_scan(&supervision, 100 * SECOND_NS, &scan,
                "READY=1\nWATCHDOG=1\nSTATUS=3 stalled of 1,204 ids in 4 rings; last scan 0.4 ms\n");
    assert_scan(&supervision, 110 * SECOND_NS, &scan, "WATCHDOG=1\n");
    supervision_init(&supervision, 0); /* nobody watches */
    assert_scan(&supervision, 100 * SECOND_NS, &scan,
                "READY=1\nSTATUS=3 stalled of 1,204 ids in 4 rings; last scan 0.4 ms\n");
    assert_scan(&supervision, 110 * SECOND_NS, &scan, "");
}

/* An eighth of the watchdog's time between two, and a half at most for the next: there is time to spare. */
TEST(pings_are_not_more_than_needed)
{
    struct snapshot scan = usual();
    struct supervision supervision;
    size_t count = 0;

    supervision_init(&supervision, 30 * SECOND_NS);
    for (uint64_t now_ns = SECOND_NS; now_ns <= 300 * SECOND_NS; now_ns += 50 * MS) {
        supervision_scanned(&supervision, now_ns, &scan);
        count += strstr(supervision.text, "WATCHDOG=1\n") != NULL;
    }
    assert_in_range(count, 79, 81);
    supervision_init(&supervision, 3 * SECOND_NS); /* as short as can be: with every scan */
    for (uint64_t i = 0; i < 10; i++) {
        supervision_scanned(&supervision, i * SECOND_NS, &scan);
        assert_non_null(strstr(supervision.text, "WATCHDOG=1\n"));
    }
}

TEST(a_watchdog_that_is_too_short)
{
    struct snapshot scan = usual();
    struct supervision supervision;

    supervision_init(&supervision, 3 * SECOND_NS - 1);
    scan.counts[ID_STALLED] = 0;
    assert_scan(&supervision, 0, &scan,
                "READY=1\nWATCHDOG_USEC=3000000\nWATCHDOG=1\n"
                "STATUS=0 stalled of 1,204 ids in 4 rings; last scan 0.4 ms\n");
    assert_int_equal(supervision.watchdog_ns, 3 * SECOND_NS);
    assert_scan(&supervision, SECOND_NS, &scan, "WATCHDOG=1\n"); /* once */
    supervision_init(&supervision, 3 * SECOND_NS);
    supervision_scanned(&supervision, 0, &scan);
    assert_null(strstr(supervision.text, "WATCHDOG_USEC"));
    supervision_reloading(&supervision, 123456789);
    assert_string_equal(supervision.text, "RELOADING=1\nMONOTONIC_USEC=123456\n");
    supervision_reloaded(&supervision, 3600 * SECOND_NS);
    assert_string_equal(supervision.text, "READY=1\nWATCHDOG_USEC=10800000000\n");
    supervision_reloading(&supervision, 0); /* and back to what it was */
    supervision_reloaded(&supervision, SECOND_NS);
    assert_string_equal(supervision.text, "READY=1\nWATCHDOG_USEC=3000000\n");
    supervision_init(&supervision, 0);
    supervision_reloading(&supervision, 0);
    supervision_reloaded(&supervision, 3600 * SECOND_NS);
    assert_string_equal(supervision.text, "READY=1\n");
}

TEST(status_is_fresh_but_not_noisy)
{
    struct snapshot scan = usual();
    struct supervision supervision;

    supervision_init(&supervision, 0);
    scan = scan_of(0, 1, 1, 1234567890);
    assert_scan(&supervision, 0, &scan, "READY=1\nSTATUS=0 stalled of 1 id in 1 ring; last scan 1234.6 ms\n");
    scan.counts[ID_STALLED] = 1; /* at most once in a second */
    assert_scan(&supervision, 999 * MS, &scan, "");
    assert_scan(&supervision, SECOND_NS, &scan, "STATUS=1 stalled of 1 id in 1 ring; last scan 1234.6 ms\n");
    scan.health.id_count = 1000; /* less urgent */
    scan.scan_duration_ns = 49999;
    assert_scan(&supervision, 10999 * MS, &scan, "");
    assert_scan(&supervision, 11 * SECOND_NS, &scan, "STATUS=1 stalled of 1,000 ids in 1 ring; last scan 0.0 ms\n");
    assert_scan(&supervision, 100 * SECOND_NS, &scan, ""); /* nothing new */
    scan = scan_of(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX - SECOND_NS);
    assert_scan(&supervision, 200 * SECOND_NS, &scan,
                "STATUS=18,446,744,073,709,551,615 stalled of 18,446,744,073,709,551,615 ids in "
                "18,446,744,073,709,551,615 rings; last scan 18446744072709.6 ms\n");
}

/* A text that could not be sent is made again from the state before it. */
TEST(what_was_not_sent)
{
    struct snapshot scan = usual();
    struct supervision before, after;

    supervision_init(&before, SECOND_NS);
    after = before;
    supervision_scanned(&after, 0, &scan);
    supervision_scanned(&before, 0, &scan);
    assert_string_equal(after.text, before.text);
    supervision_reloading(&after, 0);
    assert_scan(&after, SECOND_NS, &scan, "READY=1\nWATCHDOG=1\n"); /* the one after the reload got lost */
    supervision_stopping(&after);
    assert_string_equal(after.text, "STOPPING=1\n");
}
