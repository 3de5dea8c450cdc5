/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.h - /events as they happen: server-sent events, as the HTML standard has them.
 *
 * Guarantees
 *   A. What follows the place of a client is sent, in order and once; what is not held any more, or was of another
 *      history, is a gap event that says so. Filters do not hide gaps.
 *   B. A client always knows its place: it gets it at the beginning, with each event, and with the sign of life when
 *      only events that it does not want have gone by. So a client that reconnects misses nothing.
 *   C. One stream takes at most HTTP_STREAM_OUTPUT_BYTES_MAX and an event of memory, HTTP_STREAM_SOCKET_BYTES of its
 *      socket's, and matches HTTP_STREAM_EVENTS_PER_TURN events before others have their turn.
 *   D. A new stream is always opened. Where http_limits.streams_max are open, it ends the oldest stream of the client
 *      that has most: so each of n clients can have an n-th of them. A client is a user at a Unix socket, and an
 *      address otherwise; all of loopback is one, since there a client chooses its address. An ended client may
 *      reconnect (B).
 */
#ifndef RIPD_NET_STREAMS_H
#define RIPD_NET_STREAMS_H

#include "net/connection.h"

/* Answers the connection's request with events as they come, from the place on that it names. */
void stream_open(struct connection *connection, const struct query *query);
void stream_turn(struct connection *connection);
void stream_expire(struct connection *connection, uint64_t now_mono_ns);
void stream_leave(struct connection *connection); /* nothing happens if it has none */
void streams_advance(struct server *server);      /* there are new events */
void streams_end(struct server *server);

#endif
