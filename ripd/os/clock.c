/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - the clocks. Touches nothing else.
 *
 * Guarantees
 *   1. Never fails. The clocks exist on every Linux, and their values fit until the year 2554.
 */
#include "os/clock.h"

#include <unistd.h>

enum { SECOND_NS = 1000000000 };

uint64_t clock_read_ns(clockid_t clock)
{
    struct timespec now = {0};

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
}

uint64_t clock_mono_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_wall_ns(void)
{
    return clock_read_ns(CLOCK_REALTIME);
}

uint64_t clock_boot_ns(void)
{
    return clock_read_ns(CLOCK_BOOTTIME);
}

uint64_t clock_cpu_ns(void)
{
    return clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_ticks_per_second(void)
{
    return (uint64_t)sysconf(_SC_CLK_TCK);
}
