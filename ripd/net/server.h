/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server.h - the data from which requests are answered. Private to net/; made by http.c, used by the HTTP thread only.
 */
#ifndef RIPD_NET_SERVER_H
#define RIPD_NET_SERVER_H

#include <sys/queue.h>

#include "cases/health.h"
#include "cases/snapshot.h"
#include "net/event_store.h"
#include "net/http.h"
#include "net/limits.h"

struct event_base;

struct server {
    struct event_base *base;
    struct http_source source;
    struct http_limits limits;
    struct health_http health; /* its counters; http_health() fills in the rest */
    struct snapshot *snapshot; /* of the last scan; NULL before the first one */
    struct event_store events;
    uint64_t epoch;                                 /* of the events' sequences */
    struct lists *lists;                            /* see lists.c */
    struct pending_queries *queries;                /* see pending.c */
    LIST_HEAD(connections, connection) connections; /* see connection.c */
    size_t connection_count;
    LIST_HEAD(streams, stream) streams; /* see streams.c; newest first */
    size_t stream_count;                /* included in connection_count */
    bool stopping;
};

void server_health(const struct server *server, struct health_http *ret_health);

#endif
