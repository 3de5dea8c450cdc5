/* SPDX-License-Identifier: Apache-2.0 */
/* alarm.c - setitimer(2), and nothing else. */
#include "probe/child/alarm.h"

#include <stddef.h>
#include <sys/time.h>

void alarm_set(uint64_t limit_ns)
{
    struct itimerval timer = {
        .it_value = {(time_t)(limit_ns / 1000000000), (suseconds_t)(limit_ns % 1000000000 / 1000)}};

    setitimer(ITIMER_REAL, &timer, NULL);
}
