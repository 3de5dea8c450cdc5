/* SPDX-License-Identifier: Apache-2.0 */
/* test_health.c - counters of scans, stalls and incidents: ripd/cases/health.c. */
#include <string.h>

#include "cases/health.h"
#include "cases/snapshot.h"
#include "cases/waits.h"
#include "support/test.h"

#define US UINT64_C(1000)
#define SECOND_NS UINT64_C(1000000000)

/* A bucket includes its bound; one nanosecond more belongs to the next bucket. */
TEST(every_bucket)
{
    static const uint32_t bounds_us[] = HEALTH_SCAN_BUCKETS_US;
    struct health health = {0};
    uint64_t total_ns = 0, count = 0;

    for (size_t i = 0; i < HEALTH_SCAN_BUCKET_COUNT; i++) {
        assert_true(i == 0 || bounds_us[i] > bounds_us[i - 1]);
        health_scan_add(&health, bounds_us[i] * US);
        assert_int_equal(health.scan_buckets[i], i == 0 ? 1 : 2);
        health_scan_add(&health, bounds_us[i] * US + 1);
        assert_int_equal(health.scan_buckets[i + 1], 1);
        total_ns += 2 * (bounds_us[i] * US) + 1;
        assert_int_equal(health.scan_total_ns, total_ns);
    }
    health_scan_add(&health, 0);
    assert_int_equal(health.scan_buckets[0], 2);
    health_scan_add(&health, 1000 * SECOND_NS);
    assert_int_equal(health.scan_buckets[HEALTH_SCAN_BUCKET_COUNT], 2);
    for (size_t i = 0; i <= HEALTH_SCAN_BUCKET_COUNT; i++)
        count += health.scan_buckets[i];
    assert_int_equal(health.scan_count, count);
    assert_int_equal(count, 2 * HEALTH_SCAN_BUCKET_COUNT + 2);
}

TEST(skipped_scans)
{
    static const struct {
        uint64_t gap_ns;
        uint64_t skipped;
    } rows[] = {
        {0, 0},
        {SECOND_NS, 0},
        {2 * SECOND_NS - 1, 0}, /* late, but no scan was skipped */
        {2 * SECOND_NS, 1},
        {3 * SECOND_NS - 1, 1},
        {3600 * SECOND_NS, 3599},
    };
    struct health health = {0};
    uint64_t expected = 0;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        expected += rows[i].skipped;
        health_gap_add(&health, rows[i].gap_ns, SECOND_NS);
        assert_int_equal(health.skipped_scan_count, expected);
    }
    health_gap_add(&health, SECOND_NS, 0); /* no interval: no scan was due */
    assert_int_equal(health.skipped_scan_count, expected);
}

static struct detector_suspect suspect(enum id_state id_state, enum id_cause cause, uint64_t frozen_for_ns)
{
    return (struct detector_suspect){.state = id_state, .cause = cause, .frozen_for_ns = frozen_for_ns};
}

TEST(suspects)
{
    const struct detector_suspect suspects[] = {
        suspect(ID_STALLED, CAUSE_BLOCKED, 7), suspect(ID_STALLED, CAUSE_BLOCKED, 9),
        suspect(ID_STALLED, CAUSE_NONE, 5),    suspect(ID_STALLED, CAUSE_BLOCKED, 8),
        suspect(ID_STOPPED, CAUSE_SIGNAL, 99), suspect(ID_EXITED, CAUSE_NONE, 99),
    };
    struct health health = {0};
    uint64_t stalls = 0, stopped = 0;

    for (int round = 0; round < 2; round++) { /* the second round replaces the first */
        health_clear_suspects(&health);
        for (size_t i = 0; i < COUNT_OF(suspects); i++)
            health_add_suspect(&health, &suspects[i], false);
        assert_int_equal(health.by_cause.stalls[CAUSE_BLOCKED], 3);
        assert_int_equal(health.by_cause.longest_ns[CAUSE_BLOCKED], 9);
        assert_int_equal(health.by_cause.stalls[CAUSE_NONE], 1);
        assert_int_equal(health.by_cause.longest_ns[CAUSE_NONE], 5);
        assert_int_equal(health.by_cause.stopped[CAUSE_SIGNAL], 1);
        assert_int_equal(health.by_cause.stuck[CAUSE_BLOCKED], 3);
        assert_int_equal(health.by_cause.stuck_longest_ns[CAUSE_BLOCKED], 9);
        assert_int_equal(health.by_cause.stuck[CAUSE_NONE], 0);
    }
    for (int i = 0; i < CAUSE_COUNT; i++) {
        stalls += health.by_cause.stalls[i];
        stopped += health.by_cause.stopped[i];
    }
    assert_int_equal(stalls, 4);
    assert_int_equal(stopped, 1);
    health_clear_suspects(&health);
    assert_int_equal(health.by_cause.stalls[CAUSE_BLOCKED], 0);
    assert_int_equal(health.by_cause.longest_ns[CAUSE_BLOCKED], 0);
    assert_int_equal(health.by_cause.stopped[CAUSE_SIGNAL], 0);
}

/* A preloaded program that spins may just compute: it does not count as stuck. */
TEST(incidents)
{
    struct health health = {.scan_count = 0};

    health_add_incident(&health, CAUSE_SPINNING, true);
    health_add_incident(&health, CAUSE_UNKNOWN, false);
    assert_int_equal(health.incidents_by_cause[CAUSE_SPINNING], 1);
    assert_int_equal(health.stuck_incidents_by_cause[CAUSE_SPINNING], 0);
    assert_int_equal(health.stuck_incidents_by_cause[CAUSE_UNKNOWN], 0);
    health_add_incident(&health, CAUSE_SPINNING, false);
    health_add_incident(&health, CAUSE_BLOCKED, true);
    assert_int_equal(health.incidents_by_cause[CAUSE_SPINNING], 2);
    assert_int_equal(health.stuck_incidents_by_cause[CAUSE_SPINNING], 1);
    assert_int_equal(health.stuck_incidents_by_cause[CAUSE_BLOCKED], 1);
}

TEST(scans)
{
    const struct detector_update update = {
        .late_count = 3, .id_count = 1204, .unclassified_count = 17, .memory_bytes = 48000};
    struct waits waits = {.left_out_count = 25};
    struct snapshot snapshot = {
        .scanned_mono_ns = 100 * SECOND_NS,
        .scan_duration_ns = 400000,
        .interval_ns = 2 * SECOND_NS,
        .stalls_left_out_count = 20,
        .waits = &waits,
    };
    struct snapshot before = snapshot;
    struct health health = {.scan_count = 0};

    health_add_scan(&health, NULL, &snapshot, &update); /* no scan was due before the first */
    assert_int_equal(health.skipped_scan_count, 0);
    snapshot.interval_ns = SECOND_NS; /* the gap before the change counts in old intervals */
    snapshot.scanned_mono_ns += 5 * SECOND_NS;
    health_add_scan(&health, &before, &snapshot, &update);
    assert_int_equal(health.skipped_scan_count, 1);
    before = snapshot;
    snapshot.scanned_mono_ns += 5 * SECOND_NS;
    health_add_scan(&health, &before, &snapshot, &update);
    assert_int_equal(health.skipped_scan_count, 1 + 4);

    assert_int_equal(health.scan_count, 3);
    assert_int_equal(health.scan_total_ns, 3 * 400000);
    assert_int_equal(health.late_scan_count, 3);
    assert_int_equal(health.id_count, 1204);
    assert_int_equal(health.detector_bytes, 48000);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_NAMES], 3 * 17);
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_STALLS], 60); /* of each scan */
    assert_int_equal(health.limit_counts[HEALTH_LIMIT_WAITS], 75);
}
