/* SPDX-License-Identifier: Apache-2.0 */
/*
 * routes.h - which path is answered by what. The table is in routes.c.
 */
#ifndef RIPD_NET_ROUTES_H
#define RIPD_NET_ROUTES_H

#include "net/connection.h"

/* A handler answers, or makes the connection wait. */
typedef void route_handler(struct http *http, struct connection *connection, const struct query *query);

struct route {
    const char *pattern;  /* a segment in capitals takes any text */
    unsigned parameters;  /* of view/query_parse.h */
    uint32_t trail_count; /* breadcrumbs with each id, if trail=N does not say otherwise */
    route_handler *handle;
    const char *summary; /* for the manual page: what it answers */
};

#define ROUTE_ARGUMENTS_MAX 2u

/* NULL if there is none. Arguments are the segments that capitals took, still encoded. */
const struct route *route_find(struct span path, struct span ret_arguments[ROUTE_ARGUMENTS_MAX],
                               size_t *ret_argument_count);

/* The table, for the manual page. */
extern const struct route routes[];
extern const size_t routes_count;

/* "/stalls, /threads, ..." */
void routes_list(char *ret_text, size_t capacity);

route_handler handle_stalls;
route_handler handle_threads;
route_handler handle_thread;
route_handler handle_locations;
route_handler handle_rings;
route_handler handle_events;
route_handler handle_metrics;
route_handler handle_healthz;
route_handler handle_readyz;
route_handler handle_version;

#endif
