/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sim_bound.c - a stall is reported between T and T + interval + one scan after the id froze.
 *
 * Each seed is a world of one id, which moves at every nanosecond until it freezes at a random time, with the real
 * detector and schedule. Thresholds, intervals, the duration of a scan, and the time in it at which the id is read are
 * random too. The bounds are checked exactly. The environment variable RIP_SIM_SEEDS sets the number of seeds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "detect/schedule.h"
#include "sim/sim.h"

#define SEEDS_DEFAULT UINT64_C(1000000)

struct phase {
    uint64_t interval_ns;
    uint64_t stall_after_ns;
    uint64_t scan_ns;   /* duration of a scan */
    uint64_t offset_ns; /* from its begin until the id is read */
    uint64_t frozen_ns; /* when the id freezes */
};

static struct phase phase_of(uint64_t seed)
{
    static const uint64_t intervals_ms[] = {1000, 1000, 1000, 250, 3000};
    uint64_t random = seed;
    struct phase phase = {.interval_ns = intervals_ms[sim_random(&random, 5)] * SIM_MS};

    /* Mostly the default; otherwise from a third of an interval to ten intervals. */
    phase.stall_after_ns = 5 * phase.interval_ns;
    if (sim_random(&random, 3) == 0)
        phase.stall_after_ns = phase.interval_ns / 3 + sim_random(&random, 10 * phase.interval_ns);
    phase.scan_ns = sim_random(&random, phase.interval_ns / 50);
    phase.offset_ns = sim_random(&random, phase.scan_ns + 1);
    phase.frozen_ns = phase.interval_ns + sim_random(&random, 3 * phase.interval_ns);
    return phase;
}

/* Returns when the stall was reported: at the end of the scan that found it. */
static uint64_t report_of(uint64_t seed, const struct phase *phase)
{
    const struct detector_config config = {.interval_ns = phase->interval_ns, .stall_after_ns = phase->stall_after_ns};
    struct detector_update update = {0};
    struct detector *detector;
    struct schedule schedule;
    uint64_t began_ns = 0;

    assert_int_equal(detector_new(&detector, &config), 0);
    schedule_init(&schedule, phase->interval_ns, seed + 1);
    for (;;) {
        const uint64_t read_ns = began_ns + phase->offset_ns;
        struct rip_sample sample = {.generation = 2, .tid = 1};

        sample.progress = read_ns < phase->frozen_ns ? read_ns : phase->frozen_ns;
        detector_begin(detector, began_ns);
        detector_ring(detector, 1, NULL, 0);
        detector_feed(detector, &sample, 1);
        detector_end(detector, &update);
        if (update.event_count)
            break;
        schedule_next(&schedule, began_ns, detector_next_due(detector));
        began_ns = schedule.next_mono_ns;
        assert_true(began_ns < phase->frozen_ns + 3 * (phase->stall_after_ns + phase->interval_ns));
    }
    assert_true(update.suspects[0].frozen_for_ns >= phase->stall_after_ns);
    assert_true(update.suspects[0].frozen_for_max_ns >= began_ns + phase->offset_ns - phase->frozen_ns ||
                phase->frozen_ns < phase->offset_ns);
    detector_free(detector);
    return began_ns + phase->scan_ns;
}

TEST(every_phase_is_reported_in_time)
{
    const char *seeds_text = getenv("RIP_SIM_SEEDS");
    const uint64_t seeds = seeds_text ? strtoull(seeds_text, NULL, 10) : SEEDS_DEFAULT;
    double earliest = 1e9, latest = -1e9;

    for (uint64_t seed = 0; seed < seeds; seed++) {
        const struct phase phase = phase_of(seed);
        const uint64_t reported_ns = report_of(seed, &phase);
        const uint64_t least_ns = phase.frozen_ns + phase.stall_after_ns;
        const uint64_t most_ns = least_ns + phase.interval_ns + phase.scan_ns;
        const double place = ((double)reported_ns - (double)least_ns) / (double)phase.interval_ns;

        earliest = place < earliest ? place : earliest;
        latest = place > latest ? place : latest;
        if (reported_ns < least_ns || reported_ns > most_ns)
            fail_msg("seed %" PRIu64 ": interval %" PRIu64 ", threshold %" PRIu64 ", frozen at %" PRIu64
                     ", reported at %" PRIu64 ", expected [%" PRIu64 ", %" PRIu64 "]",
                     seed, phase.interval_ns, phase.stall_after_ns, phase.frozen_ns, reported_ns, least_ns, most_ns);
    }
    printf("%" PRIu64 " phases: reported %.4f to %.4f intervals after the threshold\n", seeds, earliest, latest);
}
