/* SPDX-License-Identifier: Apache-2.0 */
/* answer_list.h - answering with a list whose body is there. Private to net/. */
#ifndef RIPD_NET_ANSWER_LIST_H
#define RIPD_NET_ANSWER_LIST_H

#include "net/connection.h"

#define ANSWER_EVENTS_FIELDS "Vary: Accept\r\n" /* there is a list and a stream of that name */

/* A list that the server can make by itself, at most once per key and scan. build returns NULL without memory. */
void answer_built(struct http *http, struct connection *connection, enum document_kind kind, const struct query *query,
                  const char *key, struct body *(*build)(struct http *http, const struct query *query));

/* With a head made now. */
void answer_list(struct http *http, struct connection *connection, struct body *body);

#endif
