/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.c - jitter, and earlier scans for suspects that become due.
 */
#include "detect/schedule.h"

#define JITTER_DIVISOR 10u /* up to 1/10 of the interval earlier */
#define MIN_DISTANCE_DIVISOR 16u

/*
 * Marsaglia, "Xorshift RNGs", 2003: triple 13, 7, 17. The only requirement is that it is not periodic like a program.
 */
static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

void schedule_init(struct schedule *schedule, uint64_t interval_ns, uint64_t seed)
{
    *schedule = (struct schedule){.interval_ns = interval_ns, .random = seed != 0 ? seed : 1};
}

void schedule_set_interval(struct schedule *schedule, uint64_t interval_ns, uint64_t now_mono_ns)
{
    schedule->interval_ns = interval_ns;
    if (schedule->next_mono_ns > now_mono_ns && schedule->next_mono_ns - now_mono_ns > interval_ns)
        schedule->next_mono_ns = now_mono_ns + interval_ns;
}

void schedule_next(struct schedule *schedule, uint64_t began_mono_ns, uint64_t due_mono_ns)
{
    uint64_t jitter_max_ns = schedule->interval_ns / JITTER_DIVISOR;
    uint64_t jitter_ns = jitter_max_ns != 0 ? random_next(&schedule->random) % (jitter_max_ns + 1) : 0;
    uint64_t next = began_mono_ns + schedule->interval_ns - jitter_ns;
    uint64_t distance_ns = schedule->interval_ns / MIN_DISTANCE_DIVISOR;
    uint64_t earliest = began_mono_ns + distance_ns;

    if (due_mono_ns <= next)
        next = due_mono_ns > earliest ? due_mono_ns : earliest;
    else if (due_mono_ns - next < distance_ns) /* the scan after this one can then be at that instant */
        next = due_mono_ns - distance_ns;
    schedule->next_mono_ns = next;
}

uint64_t schedule_wait_ns(const struct schedule *schedule, uint64_t now_mono_ns)
{
    return now_mono_ns < schedule->next_mono_ns ? schedule->next_mono_ns - now_mono_ns : 0;
}
