/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_limit.h - ends something that runs too long: asks it to end first, and kills it after a grace period. Also
 * computes remaining time. Pure.
 */
#ifndef RIPD_UTIL_TIME_LIMIT_H
#define RIPD_UTIL_TIME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* Returns the time until until_ns, or 0 if it is past. */
static inline uint64_t time_left_ns(uint64_t until_ns, uint64_t now_ns)
{
    return until_ns > now_ns ? until_ns - now_ns : 0;
}

enum time_limit_action {
    TIME_LIMIT_NOTHING,
    TIME_LIMIT_ASK,  /* SIGTERM */
    TIME_LIMIT_KILL, /* SIGKILL; repeated after each grace period, for processes started meanwhile */
};

struct time_limit {
    uint64_t next_mono_ns; /* time of the next action */
    uint64_t grace_ns;
    bool passed; /* it has been asked to end */
};

void time_limit_init(struct time_limit *limit, uint64_t now_mono_ns, uint64_t limit_ns, uint64_t grace_ns);

/* Returns what to do now. Each action is returned once. */
enum time_limit_action time_limit_step(struct time_limit *limit, uint64_t now_mono_ns);

#endif
