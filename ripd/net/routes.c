/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c - the route table, and how a path finds its row. */
#include "net/routes.h"

#include <stdio.h>
#include <string.h>

#include "view/query_parse.h"

#define PARAMETERS_OF_LISTS                                                                                            \
    (PARAMETER_RING | PARAMETER_PID | PARAMETER_NAME | PARAMETER_CAUSE | PARAMETER_MIN_MS | PARAMETER_LIMIT |          \
     PARAMETER_AFTER)

const struct route routes[] = {
    {"/stalls", PARAMETERS_OF_LISTS | PARAMETER_TRAIL | PARAMETER_GROUP_STALLS, 4, handle_stalls,
     "ids stalled now, longest first"},
    {"/threads", PARAMETERS_OF_LISTS | PARAMETER_TRAIL | PARAMETER_STATE | PARAMETER_GROUP, 0, handle_threads,
     "every live id with its state and last location"},
    {"/threads/RING/ID", PARAMETER_TRAIL, QUERY_TRAIL_MAX, handle_thread, "one id with its whole trail"},
    {"/locations", PARAMETERS_OF_LISTS | PARAMETER_STATE, 0, handle_locations,
     "live ids grouped by last location, most first"},
    {"/rings", PARAMETER_RING | PARAMETER_PID | PARAMETER_LIMIT | PARAMETER_AFTER, 0, handle_rings,
     "each ring: processes, capacity, refused registrations; unreadable and damaged ones with the reason"},
    {"/events",
     PARAMETER_RING | PARAMETER_PID | PARAMETER_NAME | PARAMETER_CAUSE | PARAMETER_MIN_MS | PARAMETER_KIND |
         PARAMETER_LIMIT | PARAMETER_AFTER_EVENT,
     0, handle_events, "begins and ends of stalls, newest first"},
    {"/metrics", 0, 0, handle_metrics, "counts of all this and ripd's own condition, for Prometheus"},
    {"/healthz", 0, 0, handle_healthz, "200 while the server's loop turns"},
    {"/readyz", 0, 0, handle_readyz, "503 until the first scan, or when the last one is older than three intervals"},
    {"/version", 0, 0, handle_version, "version and ring format"},
};
const size_t routes_count = sizeof(routes) / sizeof(routes[0]);

/* Cuts the next segment, which begins with '/', off. False: there is none. */
static bool next_segment(struct span *path, struct span *ret_segment)
{
    const char *end;

    if (path->length == 0)
        return false;
    path->bytes++;
    path->length--;
    end = path->length == 0 ? NULL : memchr(path->bytes, '/', path->length);
    ret_segment->bytes = path->bytes;
    ret_segment->length = end == NULL ? path->length : (size_t)(end - path->bytes);
    path->bytes += ret_segment->length;
    path->length -= ret_segment->length;
    return true;
}

static bool matches(const char *pattern, struct span path, struct span arguments[ROUTE_ARGUMENTS_MAX], size_t *count)
{
    struct span rest = {pattern, strlen(pattern)};
    struct span expected;
    struct span segment;

    *count = 0;
    while (next_segment(&rest, &expected)) {
        if (!next_segment(&path, &segment))
            return false;
        if (expected.bytes[0] >= 'A' && expected.bytes[0] <= 'Z' && segment.length != 0)
            arguments[(*count)++] = segment;
        else if (segment.length != expected.length || memcmp(segment.bytes, expected.bytes, segment.length) != 0)
            return false;
    }
    return path.length == 0;
}

const struct route *route_find(struct span path, struct span ret_arguments[ROUTE_ARGUMENTS_MAX],
                               size_t *ret_argument_count)
{
    for (size_t i = 0; i < routes_count; i++)
        if (matches(routes[i].pattern, path, ret_arguments, ret_argument_count))
            return &routes[i];
    return NULL;
}

void routes_list(char *ret_text, size_t capacity)
{
    size_t length = 0;

    for (size_t i = 0; i < routes_count && length < capacity; i++)
        length += (size_t)snprintf(ret_text + length, capacity - length, "%s%s", i == 0 ? "" : ", ", routes[i].pattern);
}
