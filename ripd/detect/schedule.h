/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h - decides when the next scan starts. Pure.
 *
 * Guarantees
 *   A. Scans are 0.9 to 1 interval apart, at random, so that no periodic program can stay hidden between them. They are
 *      never more than an interval apart: otherwise a stall could be reported later than its threshold plus one
 *      interval and one scan.
 *   B. If a suspect becomes due earlier, the scan moves to that instant, but not closer to the previous scan than 1/16
 *      of an interval: a stream of suspects cannot make the daemon scan without pause. A scan that would come just
 *      before such an instant, and so delay it, is moved earlier by up to that distance.
 */
#ifndef RIPD_DETECT_SCHEDULE_H
#define RIPD_DETECT_SCHEDULE_H

#include <stdint.h>

struct schedule {
    uint64_t interval_ns;
    uint64_t next_mono_ns;
    uint64_t random; /* state of the generator, never 0 */
};

void schedule_init(struct schedule *schedule, uint64_t interval_ns, uint64_t seed);

/* Sets the interval from now_mono_ns on. If the next scan is further away than the new interval, it moves earlier. */
void schedule_set_interval(struct schedule *schedule, uint64_t interval_ns, uint64_t now_mono_ns);

/* Schedules the next scan after one that began at began_mono_ns. due_mono_ns is detector_next_due(). */
void schedule_next(struct schedule *schedule, uint64_t began_mono_ns, uint64_t due_mono_ns);

/* Returns the time from now_mono_ns until the next scan, or 0 if it is due. */
uint64_t schedule_wait_ns(const struct schedule *schedule, uint64_t now_mono_ns);

#endif
