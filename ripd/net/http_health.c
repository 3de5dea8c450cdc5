/* SPDX-License-Identifier: Apache-2.0 */
/* http_health.c - the server's condition as values. Of the HTTP thread. */
#include "net/server.h"

void http_health(const struct http *http, struct health_http *ret_health)
{
    const struct http_counters *counters = &http->counters;

    *ret_health = (struct health_http){
        .connection_count = http->connection_count - http->stream_count,
        .connections_max = http->limits.connections_max,
        .stream_count = http->stream_count,
        .streams_max = http->limits.streams_max,
        .accepted_count = counters->accepted_count,
        .request_count = counters->request_count,
        .not_modified_count = counters->not_modified_count,
        .list_bytes = pages_bytes(&http->pages),
        .list_bytes_max = http->limits.body_bytes_max,
        .event_count = http->events.count,
        .events_max = EVENT_STORE_COUNT_MAX,
        .event_bytes = http->events.bytes,
        .event_bytes_max = EVENT_STORE_BYTES_MAX,
        .limit_counts =
            {
                [HEALTH_LIMIT_CONNECTIONS] = counters->dropped_for_new_count,
                [HEALTH_LIMIT_ANSWER_MEMORY] = counters->dropped_for_memory_count,
                [HEALTH_LIMIT_ACCEPTS] = counters->accept_paused_count,
                [HEALTH_LIMIT_REQUEST_TIME] = counters->request_timeout_count,
                [HEALTH_LIMIT_ANSWER_TIME] = counters->answer_timeout_count,
                [HEALTH_LIMIT_QUESTIONS] = counters->wait_refused_count + counters->wait_timeout_count,
                [HEALTH_LIMIT_STREAMS] = counters->stream_refused_count,
                [HEALTH_LIMIT_STREAM_MEMORY] = counters->stream_dropped_count,
            },
    };
}
