/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.h - when the next scan is. Pure.
 *
 * Guarantees
 *   A. Scans are 0.9 to 1 interval apart, at random, so that no periodic program hides between them: never more, or a
 *      stall could be reported later than its threshold, one interval and one scan.
 *   B. A suspect that falls due earlier brings the scan forward to that instant, but not closer to the last one than a
 *      sixteenth of an interval: a stream of suspects cannot make the daemon scan without pause. A scan that would come
 *      just before such an instant, and so delay it, is moved ahead by up to that distance.
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

/* Another interval from now_mono_ns on; a next scan that is further away than that comes earlier. */
void schedule_set_interval(struct schedule *schedule, uint64_t interval_ns, uint64_t now_mono_ns);

/* A scan began at began_mono_ns; due_mono_ns is detector_next_due(). */
void schedule_next(struct schedule *schedule, uint64_t began_mono_ns, uint64_t due_mono_ns);

/* How long from now_mono_ns until the next scan; 0 = it is time. */
uint64_t schedule_wait_ns(const struct schedule *schedule, uint64_t now_mono_ns);

#endif
