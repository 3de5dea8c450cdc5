/* SPDX-License-Identifier: Apache-2.0 */
/* coredumps.c - see coredumps.h. Starts a process; see os/spawn.h. */
#include "cli/coredumps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/item.h"
#include "os/clock.h"
#include "os/spawn.h"
#include "util/rfc3339.h"
#include "util/time_limit.h"

#define SLACK_NS UINT64_C(2000000000) /* a core has the time at which it was begun, in whole seconds */
#define BYTES_MAX (64u << 20)         /* of the list */

/* What a process may have left a core in; false: it has left none. */
static bool lifetime(const json_t *document, uint64_t *ret_from_wall_ns, uint64_t *ret_to_wall_ns)
{
    const json_t *end = json_object_get(document, "end");
    const char *from = item_text(json_object_get(document, "process"), "started_at");
    const char *to = item_text(document, "ended_at");

    if (from == NULL || to == NULL || json_is_false(json_object_get(end, "core_dumped")) ||
        (!item_is(end, "how", "killed") && !item_is(end, "how", "unknown")))
        return false;
    if (rfc3339_parse(from, ret_from_wall_ns) != 0 || rfc3339_parse(to, ret_to_wall_ns) != 0)
        return false;
    *ret_from_wall_ns -= *ret_from_wall_ns < SLACK_NS ? *ret_from_wall_ns : SLACK_NS;
    *ret_to_wall_ns += SLACK_NS;
    return true;
}

/* Running coredumpctl ---------------------------------------------------------------------------------------------- */

struct output {
    int descriptor;
    uint64_t end_mono_ns;
    size_t left;
};

/* For json_load_callback(). */
static size_t read_output(void *buffer, size_t size, void *context)
{
    struct output *output = context;
    struct pollfd readable = {.fd = output->descriptor, .events = POLLIN};
    ssize_t count;

    do {
        const int ms = (int)(time_left_ns(output->end_mono_ns, clock_mono_ns()) / 1000000);

        if (poll(&readable, 1, ms) == 0)
            return (size_t)-1;
        count = read(output->descriptor, buffer, size < output->left ? size : output->left);
    } while (count < 0 && errno == EINTR);
    if (count > 0)
        output->left -= (size_t)count;
    return (size_t)count;
}

static json_t *read_list(int descriptor, const struct spawned *spawned)
{
    struct output output = {descriptor, clock_mono_ns() + COREDUMPS_LIMIT_NS, BYTES_MAX};
    json_t *list = json_load_callback(read_output, &output, 0, NULL);
    struct pollfd ended = {.fd = spawned->descriptor, .events = POLLIN};

    if (list != NULL)
        poll(&ended, 1, 1000); /* the list is complete: give it time to exit */
    return list;
}

/* NULL: there is none. */
static json_t *list_cores(uint64_t from_wall_ns)
{
    struct spawn_options options = {.environment = (const char *const *)environ, .input = -1, .error = -1};
    struct spawned spawned;
    char command[128];
    json_t *list = NULL;
    int ends[2], status;

    snprintf(command, sizeof(command), "exec coredumpctl --quiet --no-pager --json=short --since=@%" PRIu64 " list",
             from_wall_ns / 1000000000);
    options.command = command;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    options.output = ends[1];
    if (spawn_start(&options, &spawned) == 0) {
        close(ends[1]);
        ends[1] = -1;
        list = read_list(ends[0], &spawned);
        spawn_signal(&spawned, SIGKILL);
        while (!spawn_ended(&spawned, &status))
            poll(&(struct pollfd){.fd = spawned.descriptor, .events = POLLIN}, 1, 100);
    }
    if (ends[1] >= 0)
        close(ends[1]);
    close(ends[0]);
    return list;
}

/* Joining ---------------------------------------------------------------------------------------------------------- */

static void join(json_t *document, const json_t *list)
{
    const json_int_t pid = json_integer_value(json_object_get(json_object_get(document, "process"), "pid"));
    uint64_t from_wall_ns, to_wall_ns;
    json_t *core;
    size_t i;

    if (!lifetime(document, &from_wall_ns, &to_wall_ns))
        return;
    json_array_foreach(list, i, core)
    {
        const uint64_t wall_ns = (uint64_t)json_integer_value(json_object_get(core, "time")) * 1000;

        if (json_integer_value(json_object_get(core, "pid")) == pid && wall_ns >= from_wall_ns && wall_ns <= to_wall_ns)
            json_object_set(document, "core", core);
    }
}

void coredumps_join(json_t *documents)
{
    uint64_t first_wall_ns = UINT64_MAX, from_wall_ns, to_wall_ns;
    json_t *document, *list;
    size_t i;

    json_array_foreach(documents, i, document)
    {
        if (lifetime(document, &from_wall_ns, &to_wall_ns) && from_wall_ns < first_wall_ns)
            first_wall_ns = from_wall_ns;
    }
    list = first_wall_ns != UINT64_MAX ? list_cores(first_wall_ns) : NULL;
    json_array_foreach(documents, i, document) join(document, list);
    json_decref(list);
}
