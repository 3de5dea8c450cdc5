/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handler_metrics.c - /metrics: the last snapshot, the server's own counters and what the process uses, at this moment.
 *
 * Guarantees
 *   A. It answers before the first scan, too: whoever is to be told that no scan comes must get an answer.
 *   B. What cannot be found out is left out, and never a reason not to answer.
 */
#include <unistd.h>

#include "net/routes.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/proc.h"
#include "view/metrics.h"

static int process_usage(struct health_process *ret_process)
{
    int proc = file_open_directory("/proc");
    struct health_process process = {.cpu_ns = clock_cpu_ns(), .descriptors_max = file_descriptors_max()};
    struct proc_memory memory;
    int result;

    if (proc < 0)
        return proc;
    result = proc_own_descriptors(proc, &process.descriptor_count);
    if (result == 0)
        result = proc_own_memory(proc, &memory);
    close(proc);
    if (result != 0)
        return result;
    process.virtual_bytes = memory.virtual_bytes;
    process.resident_bytes = memory.resident_bytes;
    process.anonymous_bytes = memory.anonymous_bytes;
    *ret_process = process;
    return 0;
}

void handle_metrics(struct http *http, struct connection *connection, const struct query *query)
{
    struct health_process process;
    struct health_http server;
    struct metrics_input input = {
        .snapshot = http->snapshot,
        .http = &server,
        .process = process_usage(&process) == 0 ? &process : NULL,
        .now_mono_ns = clock_mono_ns(),
    };
    struct answer answer = {.status = 200, .content_type = METRICS_CONTENT_TYPE};

    (void)query;
    http_health(http, &server);
    if (metrics_render(&input, &answer.text, &answer.text_bytes) < 0)
        connection_problem(connection, 500, "Out of memory.", NULL, NULL);
    else
        connection_answer(connection, &answer);
}
