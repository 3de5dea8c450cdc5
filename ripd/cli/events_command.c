/* SPDX-License-Identifier: Apache-2.0 */
/*
 * events_command.c - the command of `rip events --exec`: one at a time, for a bounded time, with all of its process
 * group.
 *
 * It has the environment of `rip` and RIPD_EVENT and RIPD_EPISODE, and standard output and error of `rip`.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/events.h"
#include "os/clock.h"
#include "os/spawn.h"
#include "util/time_limit.h"

#define LOOK_MS 100 /* between looks where no descriptor tells its end */

/* The caller's environment and two of ours. The array is the caller's to free. */
static const char **make_environment(const char *kind, const char *episode)
{
    const char **made;
    size_t count = 0;

    while (environ[count] != NULL)
        count++;
    made = calloc(count + 3, sizeof(char *));
    if (made == NULL)
        return NULL;
    count = 0;
    for (size_t i = 0; environ[i] != NULL; i++)
        if (strncmp(environ[i], "RIPD_EVENT=", 11) != 0 && strncmp(environ[i], "RIPD_EPISODE=", 13) != 0)
            made[count++] = environ[i];
    made[count++] = kind;
    made[count] = episode;
    return made;
}

static int start(const char *command, const char *kind, uint64_t episode, const char *text, size_t text_bytes,
                 struct spawned *ret_spawned)
{
    char kind_entry[64], episode_entry[64];
    struct spawn_options options = {.command = command, .output = STDOUT_FILENO, .error = STDERR_FILENO};
    const char **environment;
    int error;

    snprintf(kind_entry, sizeof(kind_entry), "RIPD_EVENT=%s", kind);
    snprintf(episode_entry, sizeof(episode_entry), "RIPD_EPISODE=%" PRIu64, episode);
    environment = make_environment(kind_entry, episode_entry);
    if (environment == NULL)
        return -ENOMEM;
    options.environment = environment;
    error = options.input = spawn_input_line(text, text_bytes);
    if (options.input >= 0) {
        error = spawn_start(&options, ret_spawned);
        close(options.input);
    }
    free(environment);
    return error;
}

/* Until it has ended; its exit status. *ret_stopped: stop_descriptor became readable meanwhile. */
static int wait_for(struct spawned *spawned, struct time_limit *limit, int stop_descriptor, bool *ret_stopped)
{
    struct pollfd descriptors[] = {{.fd = stop_descriptor, .events = POLLIN},
                                   {.fd = spawned->descriptor, .events = POLLIN}};
    int status = 0;

    while (!spawn_ended(spawned, &status)) {
        uint64_t now_mono_ns = clock_mono_ns();
        enum time_limit_action action = time_limit_step(limit, now_mono_ns);
        uint64_t wait_ns = limit->next_mono_ns > now_mono_ns ? limit->next_mono_ns - now_mono_ns : 0;
        int wait_ms = (int)(wait_ns / 1000000) + 1;

        if (action != TIME_LIMIT_NOTHING) {
            spawn_signal(spawned, action == TIME_LIMIT_ASK ? SIGTERM : SIGKILL);
            continue;
        }
        poll(descriptors, 2, spawned->descriptor < 0 && wait_ms > LOOK_MS ? LOOK_MS : wait_ms);
        if (descriptors[0].revents != 0 && !*ret_stopped) {
            *ret_stopped = true;
            descriptors[0].fd = -1; /* seen; what is in it is not ours to read */
            time_limit_init(limit, clock_mono_ns(), 0, EVENTS_COMMAND_GRACE_NS);
        }
    }
    return status;
}

enum events_command_outcome events_command_run(const char *command, const char *kind, uint64_t episode,
                                               const char *text, size_t text_bytes, int stop_descriptor)
{
    struct time_limit limit;
    struct spawned spawned;
    bool stopped = false;
    int status = start(command, kind, episode, text, text_bytes, &spawned);

    if (status < 0) {
        cli_error("events: --exec: cannot be started: %s", strerror(-status));
        return EVENTS_COMMAND_FAILED;
    }
    time_limit_init(&limit, clock_mono_ns(), EVENTS_COMMAND_LIMIT_NS, EVENTS_COMMAND_GRACE_NS);
    status = wait_for(&spawned, &limit, stop_descriptor, &stopped);
    if (stopped && status != 0)
        return EVENTS_COMMAND_CUT;
    if (limit.passed && !stopped)
        cli_error("events: --exec: ran longer than %" PRIu64 " s and was ended: %s of episode %" PRIu64,
                  EVENTS_COMMAND_LIMIT_NS / 1000000000, kind, episode);
    else if (status != 0)
        cli_error("events: --exec: exit status %d: %s of episode %" PRIu64, status, kind, episode);
    return EVENTS_COMMAND_DONE;
}
