/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending.h - queries whose list is not there yet: it is built of the last snapshot, or of what the scanner answers.
 *
 * Guarantees
 *   A. The same query asked by several clients is asked and built once. At most HTTP_QUERIES_MAX of the scanner are
 *      pending, and HTTP_QUERIES_AT_WORK_MAX of them with it, or answered by it and not yet built; the others wait, the
 *      oldest first. As many of the snapshot's lists are at work besides: they do not wait for a scanner that hangs.
 *   B. A list is built in slices of about HTTP_BUILD_BYTES_PER_TURN, one in a turn of the loop, and one long list at a
 *      time; short ones go ahead of it. It is dropped when no connection waits for it any more.
 *   C. No connection waits longer than http_limits.wait_ns before its list is being built.
 */
#ifndef RIPD_NET_PENDING_H
#define RIPD_NET_PENDING_H

#include "net/connection.h"

/* NULL: no memory. */
struct pending_queries *pending_new(struct server *server);
/* Answers each waiting connection with a problem first; NULL is allowed. */
void pending_free(struct pending_queries *queries);
void pending_abandon(struct pending_queries *queries);

/* The connection waits for the list; it is answered at once if no more queries can be pending. */
void pending_join(struct connection *connection, enum document_kind kind, const struct query *query);
void pending_leave(struct connection *connection);

/* The scanner's answer; page may be NULL: it could not be had. */
void pending_complete(struct pending_queries *queries, uint64_t ticket, struct page *page);
void pending_expire(struct pending_queries *queries, uint64_t now_mono_ns);
bool pending_is_empty(const struct pending_queries *queries);

#endif
