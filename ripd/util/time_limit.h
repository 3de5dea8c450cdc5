/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_limit.h - how something that runs too long is brought to its end: asked first, killed after a grace. Pure.
 */
#ifndef RIPD_UTIL_TIME_LIMIT_H
#define RIPD_UTIL_TIME_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

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
