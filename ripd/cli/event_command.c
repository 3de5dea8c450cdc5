/* SPDX-License-Identifier: Apache-2.0 */
/* event_command.c - the environment of the command, its start and its end. Starts processes; see os/spawn.h. */
#include "cli/event_command.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/table.h"
#include "os/clock.h"
#include "os/spawn.h"
#include "util/time_limit.h"

#define POLL_MS 100 /* where no descriptor reports its end */

/* The environment of rip and two more variables. The caller frees the array. */
static const char **make_environment(const char *kind_entry, const char *episode_entry)
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
    made[count++] = kind_entry;
    made[count] = episode_entry;
    return made;
}

/* The event and a newline, as the standard input of a command: a descriptor, or -errno. */
static int make_input(const json_t *event)
{
    size_t length = 0;
    char *text = NULL;
    FILE *file = open_memstream(&text, &length);
    int descriptor = -ENOMEM;

    if (file != NULL) {
        table_write_json(file, event, 0);
        if (fclose(file) == 0)
            descriptor = spawn_input_line(text, length);
    }
    free(text);
    return descriptor;
}

static int start_command(const char *command, json_int_t episode, const char *kind, const json_t *event,
                         struct spawned *ret_spawned)
{
    char kind_entry[64], episode_entry[64];
    struct spawn_options options = {.command = command, .output = STDOUT_FILENO, .error = STDERR_FILENO};
    const char **environment;
    int error;

    snprintf(kind_entry, sizeof(kind_entry), "RIPD_EVENT=%s", kind);
    snprintf(episode_entry, sizeof(episode_entry), "RIPD_EPISODE=%" JSON_INTEGER_FORMAT, episode);
    environment = make_environment(kind_entry, episode_entry);
    if (environment == NULL)
        return -ENOMEM;
    options.environment = environment;
    error = options.input = make_input(event);
    if (options.input >= 0) {
        error = spawn_start(&options, ret_spawned);
        close(options.input);
    }
    free(environment);
    return error;
}

/* Its exit status, once it has ended. *ret_stopped: stop_descriptor became readable meanwhile. */
static int wait_for_command(struct spawned *spawned, struct time_limit *limit, int stop_descriptor, bool *ret_stopped)
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
        poll(descriptors, 2, spawned->descriptor < 0 && wait_ms > POLL_MS ? POLL_MS : wait_ms);
        if (descriptors[0].revents != 0 && !*ret_stopped) {
            *ret_stopped = true;
            descriptors[0].fd = -1; /* it stays readable for the follower */
            time_limit_init(limit, clock_mono_ns(), 0, EVENT_COMMAND_GRACE_NS);
        }
    }
    return status;
}

enum event_command_result event_command_run(const char *command, const char *kind, const json_t *event,
                                            int stop_descriptor)
{
    json_int_t episode = json_integer_value(json_object_get(event, "episode"));
    struct time_limit limit;
    struct spawned spawned;
    bool stopped = false;
    int status = start_command(command, episode, kind, event, &spawned);

    if (status < 0) {
        cli_error("--exec: cannot be started: %s", strerror(-status));
        return EVENT_COMMAND_FAILED;
    }
    time_limit_init(&limit, clock_mono_ns(), EVENT_COMMAND_LIMIT_NS, EVENT_COMMAND_GRACE_NS);
    status = wait_for_command(&spawned, &limit, stop_descriptor, &stopped);
    if (stopped && status != 0)
        return EVENT_COMMAND_STOPPED;
    if (limit.passed && !stopped)
        cli_error("--exec: ran longer than %" PRIu64 " s and was ended: %s of episode %" JSON_INTEGER_FORMAT,
                  EVENT_COMMAND_LIMIT_NS / 1000000000, kind, episode);
    else if (status != 0)
        cli_error("--exec: exit status %d: %s of episode %" JSON_INTEGER_FORMAT, status, kind, episode);
    return EVENT_COMMAND_DONE;
}
