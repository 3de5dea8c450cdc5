/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan_record.c - the record of a scan, packed and unpacked: ripd/cases/scan_record.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases/scan_record.h"
#include "support/guarded_copy.h"
#include "support/test.h"

/* Every piece that was cut off is -EBADMSG, and no byte after its end is read. */
static void assert_cut_is_refused(int (*unpack)(const void *bytes, size_t count), const void *bytes, size_t count)
{
    for (size_t length = 0; length < count; length++) {
        struct guarded_copy copy;

        guarded_copy_new(&copy, bytes, length);
        assert_int_equal(unpack(copy.bytes, length), -EBADMSG);
        guarded_copy_free(&copy);
    }
}

static int unpack_record(const void *bytes, size_t count)
{
    struct scan_record record = {.incomplete = false};
    const int result = scan_record_unpack(&record, bytes, count);

    scan_record_done(&record);
    return result;
}

static int unpack_settings(const void *bytes, size_t count)
{
    struct scan_settings settings;

    return scan_settings_unpack(&settings, bytes, count);
}

static void fill(struct scan_record *record)
{
    const struct episode episode = {.number = 7,
                                    .incident = 6,
                                    .progress = UINT64_MAX,
                                    .frozen_mono_ns = 100,
                                    .begun_mono_ns = 200,
                                    .moved_after_mono_ns = DETECTOR_UNKNOWN_NS,
                                    .stall_count = 3,
                                    .cause = CAUSE_BLOCKED};
    const struct detector_adoption adoption = {.ring = 1,
                                               .slot = 2,
                                               .generation = 4,
                                               .cause = CAUSE_BLOCKED,
                                               .progress = UINT64_MAX,
                                               .frozen_since_mono_ns = 150,
                                               .moved_after_mono_ns = DETECTOR_UNKNOWN_NS};

    scan_record_add_ring(record, 1, (const uint8_t *)"0123456789abcdef", UINT32_MAX);
    scan_record_add_ring(record, 2, (const uint8_t *)"0123456789abcdeF", 1000);
    SCAN_RECORD_ADD(record, SCAN_SKIPPED, 300);
    SCAN_RECORD_ADD(record, SCAN_VERDICTS, 1, 2, 4, ID_STALLED, CAUSE_DEADLOCK);
    scan_record_add_adopted(record, &adoption, &episode);
    scan_record_add_adopted(record, &adoption, &(struct episode){.cause = CAUSE_COUNT});
}

TEST(a_record_is_packed_and_unpacked)
{
    struct scan_record record = {.incomplete = false}, again = {.incomplete = false};
    struct detector_adoption adoption;
    struct episode episode;
    void *bytes;
    size_t count;

    fill(&record);
    assert_int_equal(scan_record_pack(&record, &bytes, &count), 0);
    fill(&again); /* unpacking replaces it */
    assert_int_equal(scan_record_unpack(&again, bytes, count), 0);
    assert_int_equal(again.tables[SCAN_RINGS].count, 2);
    assert_int_equal(scan_record_row(&again, SCAN_RINGS, 0)[3], UINT32_MAX);
    assert_true(scan_record_is_ring(scan_record_row(&again, SCAN_RINGS, 0), (const uint8_t *)"0123456789abcdef"));
    assert_false(scan_record_is_ring(scan_record_row(&again, SCAN_RINGS, 1), (const uint8_t *)"0123456789abcdef"));
    assert_int_equal(scan_record_row(&again, SCAN_RINGS, 1)[3], 1000);
    assert_int_equal(scan_record_row(&again, SCAN_SKIPPED, 0)[0], 300);
    assert_int_equal(scan_record_row(&again, SCAN_VERDICTS, 0)[4], CAUSE_DEADLOCK);
    assert_int_equal(again.tables[SCAN_RULES].count, 0);
    scan_record_adopted(&again, 0, &adoption, &episode);
    assert_int_equal(adoption.generation, 4);
    assert_int_equal(adoption.cause, CAUSE_BLOCKED);
    assert_int_equal(adoption.frozen_since_mono_ns, 150);
    assert_true(adoption.progress == UINT64_MAX && adoption.moved_after_mono_ns == DETECTOR_UNKNOWN_NS);
    assert_int_equal(episode.number, 7);
    assert_int_equal(episode.incident, 6);
    assert_int_equal(episode.begun_mono_ns, 200);
    assert_int_equal(episode.stall_count, 3);
    scan_record_adopted(&again, 1, &adoption, &episode); /* a cause of a later version */
    assert_int_equal(episode.cause, CAUSE_NONE);
    assert_cut_is_refused(unpack_record, bytes, count);
    free(bytes);
    scan_record_done(&record);
    scan_record_done(&again);
}

/* Random bytes do no harm: counts stay within limits. */
TEST(random_bytes)
{
    struct scan_record record = {.incomplete = false};
    unsigned char bytes[64];
    uint64_t random = 1;

    for (unsigned i = 0; i < 20000; i++) {
        struct scan_settings settings;

        for (size_t j = 0; j < sizeof(bytes); j++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            bytes[j] = (unsigned char)(random >> 33) & (i % 2 != 0 ? 0xff : 0x03);
        }
        (void)scan_record_unpack(&record, bytes, sizeof(bytes));
        for (size_t j = 0; j < SCAN_TABLE_COUNT; j++)
            assert_true(record.tables[j].count <= sizeof(bytes));
        if (scan_settings_unpack(&settings, bytes, sizeof(bytes)) == 0)
            assert_true(settings.rules.count <= RULES_MAX);
    }
    scan_record_done(&record);
}

TEST(settings_are_packed_and_unpacked)
{
    struct scan_settings settings = {.reason = SCAN_SETTINGS_RELOADED,
                                     .interval_ns = 1000,
                                     .stall_after_ns = 5000,
                                     .hysteresis_ns = 6000,
                                     .sequence = 41,
                                     .episode = 40},
                         again;
    const char *expected;
    void *bytes;
    size_t count;

    assert_int_equal(rules_add(&settings.rules, "batch-*=10m", &expected), 0);
    assert_int_equal(rules_add(&settings.rules, "*=1s", &expected), 0);
    assert_int_equal(scan_settings_pack(&settings, &bytes, &count), 0);
    assert_int_equal(scan_settings_unpack(&again, bytes, count), 0);
    assert_int_equal(again.reason, SCAN_SETTINGS_RELOADED);
    assert_int_equal(again.hysteresis_ns, 6000);
    assert_int_equal(again.sequence, 41);
    assert_int_equal(again.rules.count, 2);
    assert_string_equal(again.rules.rules[0].glob, "batch-*");
    assert_int_equal(scan_settings_detector(&again).rule_thresholds_ns[0], UINT64_C(600000000000));
    assert_int_equal(scan_settings_detector(&again).stall_after_ns, 5000);
    assert_cut_is_refused(unpack_settings, bytes, count);
    free(bytes);
}
