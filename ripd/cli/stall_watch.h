/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall_watch.h - detects that an id begins to stall from the events of a session, with ripd's detector. Pure.
 *
 * There is no evidence. An id of an unmodified program counts if its call waits for others whatever the kernel reports:
 * for a lock, a reply, or to write. Other ids that stand still may wait for work and do not count.
 */
#ifndef RIP_CLI_STALL_WATCH_H
#define RIP_CLI_STALL_WATCH_H

#include <stdbool.h>

#include "rip/session.h"

struct stall_watch;

/* Returns 0 or -ENOMEM. interval_ns is the time between drains. */
int stall_watch_new(struct stall_watch **ret_watch, uint64_t interval_ns, uint64_t stall_after_ns);
void stall_watch_free(struct stall_watch *watch);

/*
 * Takes all events of a session in order. Sets *ret_stalled if ids began to stall with this event, a DRAIN. Returns 0
 * or -ENOMEM.
 */
int stall_watch_take(struct stall_watch *watch, const struct rip_event *event, bool *ret_stalled);

#endif
