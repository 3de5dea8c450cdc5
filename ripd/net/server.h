/* SPDX-License-Identifier: Apache-2.0 */
/* server.h - what requests are answered from. Private to net/, made by http.c; all of it belongs to the HTTP thread. */
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
    struct snapshot *snapshot; /* the last one; NULL before the first scan */
    struct event_store events;
    uint64_t epoch;                                 /* of the events' sequences */
    struct lists *lists;                            /* lists.c */
    struct pending_queries *queries;                /* pending.c */
    LIST_HEAD(connections, connection) connections; /* connection.c */
    size_t connection_count;
    LIST_HEAD(streams, stream) streams; /* streams.c; newest first */
    size_t stream_count;                /* of the connections */
    bool stopping;
};

void server_health(const struct server *server, struct health_http *ret_health);

#endif
