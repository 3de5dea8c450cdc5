/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_limit.h - how something that runs too long is brought to its end: asked first, killed after a grace; and how
 * long it has left. Pure.
 */
#ifndef RIPD_UTIL_TIME_LIMIT_H
#define RIPD_UTIL_TIME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

/* How long it is until then; 0 when that is over. */
static inline uint64_t time_left_ns(uint64_t until_ns, uint64_t now_ns)
{
    return until_ns > now_ns ? until_ns - now_ns : 0;
}

enum time_limit_action {
    TIME_LIMIT_NOTHING,
    TIME_LIMIT_ASK,  /* SIGTERM */
    TIME_LIMIT_KILL, /* SIGKILL; again after each further grace, for what has been started meanwhile */
};

struct time_limit {
    uint64_t next_mono_ns; /* when there is something to do */
    uint64_t grace_ns;
    bool passed; /* it has been asked */
};

void time_limit_init(struct time_limit *limit, uint64_t now_mono_ns, uint64_t limit_ns, uint64_t grace_ns);

/* What to do now; each action is returned once. */
enum time_limit_action time_limit_step(struct time_limit *limit, uint64_t now_mono_ns);

#endif
