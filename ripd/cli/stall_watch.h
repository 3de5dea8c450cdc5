/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stall_watch.h - whether an id began to stall, from the events of a session alone, by ripd's detector. Pure.
 *
 * There is no evidence: an id of an unchanged program counts where the call that it is in waits for others whatever the
 * kernel says: for a lock, a reply, or to write. What else stands still may be waiting for work, and does not count.
 */
#ifndef RIP_CLI_STALL_WATCH_H
#define RIP_CLI_STALL_WATCH_H

#include <stdbool.h>

#include "rip/session.h"

struct stall_watch;

/* 0 or -ENOMEM. interval_ns: between drains. */
int stall_watch_new(struct stall_watch **ret_watch, uint64_t interval_ns, uint64_t stall_after_ns);
void stall_watch_free(struct stall_watch *watch);

/* All events of a session in their order. *ret_stalled: with this one, a DRAIN, ids began to stall. 0 or -ENOMEM. */
int stall_watch_take(struct stall_watch *watch, const struct rip_event *event, bool *ret_stalled);

#endif
