/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pending.h - queries whose list is not ready. A list is built from the last snapshot, or from the scanner's answer.
 *
 * Guarantees
 *   A. The same query of several clients is sent and built once. At most HTTP_QUERIES_MAX queries for the scanner are
 *      pending. At most HTTP_QUERIES_AT_WORK_MAX of them are at the scanner, or answered and not yet built; the others
 *      wait, oldest first. The same number of lists of the snapshot may be at work in addition: they do not depend on a
 *      scanner that hangs.
 *   B. A list is built in slices of about HTTP_BUILD_BYTES_PER_TURN, one per turn of the loop. One long list is built
 *      at a time; short ones go ahead of it. A list is dropped when no connection waits for it any more.
 *   C. No connection waits longer than http_limits.wait_ns until the build of its list begins.
 */
#ifndef RIPD_NET_PENDING_H
#define RIPD_NET_PENDING_H

#include "net/connection.h"

/* Returns NULL if out of memory. */
struct pending_queries *pending_new(struct server *server);
/* Answers each waiting connection with a problem. pending_free() accepts NULL. */
void pending_free(struct pending_queries *queries);
void pending_abandon(struct pending_queries *queries);

/* Makes the connection wait for the list. Answers it at once if too many queries are pending. */
void pending_join(struct connection *connection, enum document_kind kind, const struct query *query);
void pending_leave(struct connection *connection);

/* The scanner's answer. page is NULL if there is none. */
void pending_complete(struct pending_queries *queries, uint64_t ticket, struct page *page);
void pending_expire(struct pending_queries *queries, uint64_t now_mono_ns);
bool pending_is_empty(const struct pending_queries *queries);

#endif
