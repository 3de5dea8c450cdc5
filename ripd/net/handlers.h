/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handlers.h - the routes and how each is answered. Private to net/, except the table, which the manual page shows.
 *
 * Guarantees
 *   A. No handler changes what is watched or what is found. Handlers read the last snapshot or query the scanner.
 *   B. /metrics is answered before the first scan, too, because it shows if scans never complete. Values that cannot be
 *      read are omitted.
 */
#ifndef RIPD_NET_HANDLERS_H
#define RIPD_NET_HANDLERS_H

#include <stddef.h>
#include <stdint.h>

struct connection;
struct list;
struct query;

struct route {
    const char *pattern;  /* a segment in capitals matches any text */
    unsigned parameters;  /* of view/query_parse.h */
    uint32_t trail_count; /* breadcrumbs with each id, unless trail=N is given */
    /* Answers, or makes the connection wait. The handler may change query. */
    void (*handle)(struct connection *connection, struct query *query);
    const char *summary; /* for the manual page */
};

extern const struct route routes[];
extern const size_t routes_count;

/* Answers the connection's request, which has been allowed, or makes it wait. */
void handle_request(struct connection *connection);

/* Answers with the list and a head made now, or with 304 if the client has the list. */
void answer_list(struct connection *connection, struct list *list);

#endif
