/* SPDX-License-Identifier: Apache-2.0 */
/*
 * streams.h - /events as they happen: server-sent events of the HTML standard.
 *
 * Guarantees
 *   A. The events after a client's position are sent in order and once. If some are not held any more, or the position
 *      belongs to another history, a gap event is sent. Filters do not hide gaps.
 *   B. A client always knows its position: it gets it at the beginning, with each event, and with the heartbeat if only
 *      filtered events have passed. So a client that reconnects misses nothing.
 *   C. One stream uses at most HTTP_STREAM_OUTPUT_BYTES_MAX and one event of memory, HTTP_STREAM_SOCKET_BYTES of socket
 *      buffer, and filters HTTP_STREAM_EVENTS_PER_TURN events before others have their turn.
 *   D. A new stream is always opened. If http_limits.streams_max are open, it replaces the oldest stream of the client
 *      with most streams, so that each of n clients can have an n-th of them. A client is a user on a Unix socket,
 *      otherwise an address. All loopback addresses are one client, because a local client can choose its address. The
 *      client of a replaced stream may reconnect (B).
 */
#ifndef RIPD_NET_STREAMS_H
#define RIPD_NET_STREAMS_H

#include "net/connection.h"

/* Answers the connection's request with events as they happen, from the position in the request. */
void stream_open(struct connection *connection, const struct query *query);
void stream_turn(struct connection *connection);
void stream_expire(struct connection *connection, uint64_t now_mono_ns);
void stream_leave(struct connection *connection); /* does nothing if there is no stream */
void streams_advance(struct server *server);      /* there are new events */
void streams_end(struct server *server);

#endif
