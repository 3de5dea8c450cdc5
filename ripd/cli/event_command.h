/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_command.h - the command of `rip events --exec`: one event handed to /bin/sh.
 *
 * Guarantees
 *   A. It runs for EVENT_COMMAND_LIMIT_NS at most; its process group ends with it.
 *   B. The event is on its standard input, never among the words of a shell.
 */
#ifndef RIP_CLI_EVENT_COMMAND_H
#define RIP_CLI_EVENT_COMMAND_H

#include <jansson.h>

#define EVENT_COMMAND_LIMIT_NS UINT64_C(30000000000) /* then SIGTERM to its process group, */
#define EVENT_COMMAND_GRACE_NS UINT64_C(5000000000)  /* then SIGKILL */

enum event_command_result {
    EVENT_COMMAND_DONE,    /* it ended, or was ended because it took too long; failures are reported */
    EVENT_COMMAND_FAILED,  /* it could not be started now */
    EVENT_COMMAND_STOPPED, /* it was ended because the follower stops, and has to run again */
};

/* kind: of the event. stop_descriptor: readable when the follower stops. */
enum event_command_result event_command_run(const char *command, const char *kind, const json_t *event,
                                            int stop_descriptor);

#endif
