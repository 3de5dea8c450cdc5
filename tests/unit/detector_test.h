/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detector_test.h - a detector of one ring, and scans of a handful of samples, for test_detector*.c.
 */
#ifndef TESTS_UNIT_DETECTOR_TEST_H
#define TESTS_UNIT_DETECTOR_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cases/cause.h"
#include "detect/detector.h"

#define INTERVAL UINT64_C(1000)
#define STALL_AFTER UINT64_C(5000)
#define RING 3u

static inline struct detector *detector_make(void)
{
    const struct detector_config config = {.interval_ns = INTERVAL, .stall_after_ns = STALL_AFTER};
    struct detector *detector = NULL;

    assert_int_equal(detector_new(&detector, &config), 0);
    return detector;
}

static inline struct rip_sample sample_of(uint32_t slot, uint64_t progress)
{
    return (struct rip_sample){.progress = progress, .slot = slot, .generation = 2, .tid = 1000 + slot};
}

/* What the daemon makes of evidence (cases_judge()); NULL = the suspect is not examined. */
static inline void detector_answer(struct detector_suspect *suspect, const struct evidence *evidence)
{
    const bool examined = evidence != NULL && evidence->examined;

    suspect->verdict = examined ? cause_judge(evidence) : (struct verdict){suspect->state, suspect->cause};
    if (suspect->verdict.cause == CAUSE_UNKNOWN && suspect->state == ID_STALLED && suspect->cause != CAUSE_NONE &&
        suspect->cause != CAUSE_DEADLOCK)
        suspect->verdict.cause = suspect->cause;
}

/* A scan of RING; evidence goes to every suspect, NULL = none is examined. */
static inline struct detector_update scan_with(struct detector *detector, uint64_t now,
                                               const struct rip_sample *samples, size_t count,
                                               const struct evidence *evidence)
{
    struct detector_update update;
    struct detector_suspect *suspects;
    size_t suspect_count;

    detector_begin(detector, now);
    assert_int_equal(detector_ring(detector, RING, NULL, 0), 0);
    assert_int_equal(detector_feed(detector, samples, count), 0);
    suspects = detector_suspects(detector, &suspect_count);
    for (size_t i = 0; i < suspect_count; i++)
        detector_answer(&suspects[i], evidence);
    detector_end(detector, &update);
    return update;
}

/* A scan with one sample: slot 7. */
static inline struct detector_update scan(struct detector *detector, uint64_t now, uint64_t progress)
{
    const struct rip_sample sample = sample_of(7, progress);

    return scan_with(detector, now, &sample, 1, NULL);
}

#endif
