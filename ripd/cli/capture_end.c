/* SPDX-License-Identifier: Apache-2.0 */
/* capture_end.c - see capture_end.h. Starts a process. */
#include "cli/capture_end.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/item.h"
#include "util/rfc3339.h"

#define SLACK_NS UINT64_C(2000000000) /* systemd-coredump gives the time at which a core began in whole seconds */

/* Gets the time in which a process may have left a core. Returns false if it has left none. */
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

/* Returns NULL if there is none. */
static json_t *list_cores(uint64_t from_wall_ns)
{
    char command[160];
    json_t *list;
    FILE *output;

    snprintf(command, sizeof(command),
             "exec timeout -s KILL %d coredumpctl --quiet --no-pager --json=short --since=@%" PRIu64
             " list </dev/null 2>/dev/null",
             CORES_LIMIT_S, from_wall_ns / 1000000000);
    output = popen(command, "re");
    if (output == NULL)
        return NULL;
    list = json_loadf(output, 0, NULL);
    (void)pclose(output);
    return list;
}

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

void capture_add_cores(json_t *documents)
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

/* If the kernel did not report the signal, the core file has it. */
static void fill_killed(struct table_cell *cell, const json_t *end, const json_t *core)
{
    const char *signal = item_text(end, "signal"), *file = item_text(core, "corefile"), *prefix = "";

    if (signal == NULL && core != NULL && (signal = sigabbrev_np((int)item_number(core, "sig"))) != NULL)
        prefix = "SIG";
    if (file == NULL && json_is_true(json_object_get(end, "core_dumped")))
        file = "dumped";
    table_cell_format(cell, "killed by %s%s", prefix, signal != NULL ? signal : "a signal");
    if (file != NULL)
        table_cell_add(cell, ", core %s", file);
}

void capture_fill_end(struct table_cell *cell, const json_t *document)
{
    const json_t *end = json_object_get(document, "end"), *core = json_object_get(document, "core");

    if (core != NULL || item_is(end, "how", "killed"))
        fill_killed(cell, end, core);
    else if (item_is(end, "how", "exited"))
        table_cell_format(cell, "exited with %lld by _exit()", item_number(end, "status"));
    else if (item_is(end, "how", "executed"))
        table_cell_format(cell, "executed another program");
    else
        table_cell_format(cell, "ended, it is not known how");
}
