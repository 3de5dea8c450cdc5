/* SPDX-License-Identifier: Apache-2.0 */
/* time_limit.c - SIGTERM, then SIGKILL. Pure. */
#include "util/time_limit.h"

void time_limit_init(struct time_limit *limit, uint64_t now_mono_ns, uint64_t limit_ns, uint64_t grace_ns)
{
    *limit = (struct time_limit){.next_mono_ns = now_mono_ns + limit_ns, .grace_ns = grace_ns};
}

enum time_limit_action time_limit_step(struct time_limit *limit, uint64_t now_mono_ns)
{
    enum time_limit_action action = limit->passed ? TIME_LIMIT_KILL : TIME_LIMIT_ASK;

    if (now_mono_ns < limit->next_mono_ns)
        return TIME_LIMIT_NOTHING;
    limit->passed = true;
    limit->next_mono_ns = now_mono_ns + limit->grace_ns;
    return action;
}
