/* SPDX-License-Identifier: Apache-2.0 */
/* alarm.h - the time that a process gives itself for a question. Signals have their default effect: it ends. */
#ifndef RIPD_PROBE_CHILD_ALARM_H
#define RIPD_PROBE_CHILD_ALARM_H

#include <stdint.h>

/* From now on; 0 = none any more. */
void alarm_set(uint64_t limit_ns);

#endif
