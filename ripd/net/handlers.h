/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handlers.h - which path is answered by what, and how. Private to net/, but for the table, which the manual page
 * shows.
 *
 * Guarantees
 *   A. No handler changes what is watched or what is found: they read the last snapshot, or ask the scanner to.
 *   B. /metrics is answered before the first scan, too: it says that no scan comes. What cannot be read is left out.
 */
#ifndef RIPD_NET_HANDLERS_H
#define RIPD_NET_HANDLERS_H

#include <stddef.h>
#include <stdint.h>

struct connection;
struct list;
struct query;

struct route {
    const char *pattern;  /* a segment in capitals takes any text */
    unsigned parameters;  /* of view/query_parse.h */
    uint32_t trail_count; /* breadcrumbs with each id, if trail=N does not say otherwise */
    /* Answers, or makes the connection wait. query: its own, to change. */
    void (*handle)(struct connection *connection, struct query *query);
    const char *summary; /* for the manual page: what it answers */
};

extern const struct route routes[];
extern const size_t routes_count;

/* Answers the connection's request, which has been allowed, or makes it wait. */
void handle_request(struct connection *connection);

/* With a list that is there: its text behind a head made now, or that the client has it. */
void answer_list(struct connection *connection, struct list *list);

#endif
