/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the clocks, in nanoseconds. No function fails. */
#ifndef RIPD_OS_CLOCK_H
#define RIPD_OS_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t clock_read_ns(clockid_t clock); /* 0 if there is no such clock */
uint64_t clock_mono_ns(void);            /* CLOCK_MONOTONIC */
uint64_t clock_wall_ns(void);            /* CLOCK_REALTIME */
uint64_t clock_boot_ns(void);            /* CLOCK_BOOTTIME: also runs while the machine is suspended */

uint64_t clock_cpu_ns(void); /* CLOCK_PROCESS_CPUTIME_ID: CPU time of all threads of this process */

/* Converts a time or duration for a system call. */
struct timespec clock_timespec(uint64_t ns);

/* Returns the clock ticks per second, the unit of start times in /proc. */
uint64_t clock_ticks_per_second(void);

#endif
