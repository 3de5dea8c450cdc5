/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_follow.h - `rip events --follow`: the streams of one or several hosts, a thread for each.
 *
 * Guarantees
 *   A. After a connection is lost it is made again, with the id of the last event that was handled: every event that
 *      the host still holds comes, and those that it no longer holds are reported. Hosts do not wait for each other.
 *   B. Events are handled one at a time, whichever host they are of. While a command runs nothing is read: ripd's
 *      history is the queue. If ripd drops the stream meanwhile, A holds.
 *   C. With a state file the id is stored when its event has been handled, not before: across restarts every event
 *      reaches the command at least once, and twice only if the follower was stopped in the middle of it.
 */
#ifndef RIP_CLI_EVENT_FOLLOW_H
#define RIP_CLI_EVENT_FOLLOW_H

#include <stdbool.h>

#include "cli/hosts.h"

struct event_follow_options {
    const char *target;   /* /events with its parameters */
    const char *since_id; /* after this event, of a single host; NULL: from now on */
    const char *command;  /* runs for each event; NULL: they are printed */
    const char *state;    /* file that keeps the last id, of a single host; NULL: none */
    bool json;
};

/* Until a signal ends it, or every host has refused. Returns the exit status. */
int event_follow(struct hosts *hosts, const struct event_follow_options *options);

#endif
