/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - the HTTP server: listeners, the route table, access rules. It has its own thread, which runs the loop.
 *
 * The server holds the last snapshot and answers from it. Queries for data that is not in a snapshot (/threads) go to
 * the scanner through http_source.threads. They are answered when http_complete() brings the page.
 */
#ifndef RIPD_NET_HTTP_H
#define RIPD_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cases/event.h"
#include "cases/health.h"
#include "cases/query.h"
#include "cases/snapshot.h"

#define HTTP_LISTENERS_MAX 16u

/* A socket that is already listening. */
struct http_passed {
    int descriptor; /* closed with the server */
    const char *name;
};

struct http_options {
    const struct http_passed *passed;
    size_t passed_count;
    const char *const *listen; /* ADDR:PORT, [ADDR6]:PORT or unix:PATH */
    size_t listen_count;
    const char *const *allow_hosts;
    size_t allow_host_count;
};

/* How the server queries a page of ids. Called on the HTTP thread; must not block. */
struct http_source {
    /*
     * Sends the query with this ticket; http_complete() brings the answer. Returns 0, or -EAGAIN if too many are
     * pending.
     */
    int (*threads)(void *context, uint64_t ticket, const struct query *query);
    void *context;
};

struct http;

/*
 * Starts listening. Returns 0 or -errno; then *ret_error is one line with the address, to be freed by the caller, or
 * NULL.
 */
int http_new(struct http **ret_http, const struct http_options *options, const struct http_source *source,
             char **ret_error);
/*
 * Returns the address of listener i, "http://127.0.0.1:7470" or "unix:/run/ripd.sock", or NULL after the last.
 * Borrowed.
 */
const char *http_address(const struct http *http, size_t i);
int http_start(struct http *http); /* starts the thread */
void http_stop(struct http *http); /* from any thread: finishes what is being sent, within a second, and joins */
void http_free(struct http *http);

/* From any thread. Takes its own reference. */
void http_publish(struct http *http, struct snapshot *snapshot);
/*
 * From any thread, also before http_start(). Older history comes first: an event whose sequence is not above that of
 * the previous one is ignored. Takes its own reference.
 */
void http_publish_event(struct http *http, struct event *event);
/* Before http_start(). Sets the history to which the sequences belong. By default the server generates one. */
void http_set_epoch(struct http *http, uint64_t epoch);
/*
 * From any thread. Sets the names that are accepted in Host, in addition to the server's own; each must pass
 * access_host_valid(). Copies them. Returns 0, or -ENOMEM: then the old ones stay.
 */
int http_allow_hosts(struct http *http, const char *const *names, size_t count);
/* From any thread. Takes ownership of the reference. page is NULL if there is no answer (503). */
void http_complete(struct http *http, uint64_t ticket, struct page *page);

/* For tests; before http_start(). See net/limits.h. */
struct http_limits;
void http_set_limits(struct http *http, const struct http_limits *limits);

/* On the HTTP thread, or when it does not run. */
void http_health(const struct http *http, struct health_http *ret_health);

#endif
