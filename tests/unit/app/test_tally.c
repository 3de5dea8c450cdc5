/* SPDX-License-Identifier: Apache-2.0 */
/* test_tally.c - the daemon's account of itself from scan to scan: ripd/app/tally.c. */
#include "app/tally.h"
#include "cases/waits.h"
#include "support/test.h"

#define SECOND_NS UINT64_C(1000000000)

TEST(scans)
{
    const struct detector_suspect suspects[] = {{.state = ID_STALLED, .cause = CAUSE_PARKED, .frozen_for_ns = 11}};
    const struct detector_update update = {.suspects = suspects,
                                           .suspect_count = 1,
                                           .late_count = 3,
                                           .id_count = 1204,
                                           .unclassified_count = 17,
                                           .memory_bytes = 48000};
    struct waits waits = {.left_out_count = 25};
    struct snapshot snapshot = {
        .scanned_mono_ns = 100 * SECOND_NS,
        .scan_duration_ns = 400000,
        .interval_ns = 2 * SECOND_NS,
        .stalls_left_out_count = 20,
        .waits = &waits,
    };
    struct tally tally;
    const struct health *health = &tally.health;

    tally_init(&tally, 77);
    tally_add(&tally, &snapshot, &update); /* nothing was due before the first */
    assert_int_equal(health->skipped_scan_count, 0);
    snapshot.interval_ns = SECOND_NS; /* does not make the time before it twice as many intervals */
    snapshot.scanned_mono_ns += 5 * SECOND_NS;
    tally_add(&tally, &snapshot, &update);
    assert_int_equal(health->skipped_scan_count, 1);
    snapshot.scanned_mono_ns += 5 * SECOND_NS;
    tally_add(&tally, &snapshot, &update);
    assert_int_equal(health->skipped_scan_count, 1 + 4);

    assert_int_equal(health->started_wall_ns, 77);
    assert_int_equal(health->scan_count, 3);
    assert_int_equal(health->scan_total_ns, 3 * 400000);
    assert_int_equal(health->late_scan_count, 3);
    assert_int_equal(health->id_count, 1204);
    assert_int_equal(health->detector_bytes, 48000);
    assert_int_equal(health->stalls_by_cause[CAUSE_PARKED], 1);
    assert_int_equal(health->longest_ns_by_cause[CAUSE_PARKED], 11);
    assert_int_equal(health->limit_counts[HEALTH_LIMIT_NAMES], 3 * 17);
    assert_int_equal(health->limit_counts[HEALTH_LIMIT_STALLS], 60); /* of each scan */
    assert_int_equal(health->limit_counts[HEALTH_LIMIT_WAITS], 75);
}
