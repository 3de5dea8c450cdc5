/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - the HTTP server: listeners, the route table, which requests are allowed. One thread of its own runs the
 * loop.
 *
 * It holds the last snapshot and answers from it. What a snapshot does not hold (/threads) it asks of the scanner
 * through http_source.threads, and answers when http_complete() brings the page.
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

/* A socket that listens already. */
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

/* How the server asks for a page of ids. Called on the HTTP thread; must not block. */
struct http_source {
    /* Query for request number ticket; http_complete() brings the answer. 0, or -EAGAIN: too many are waiting. */
    int (*threads)(void *context, uint64_t ticket, const struct query *query);
    void *context;
};

struct http;

/* Listens. On failure *ret_error (malloc'ed) is one line that names the address. */
int http_new(struct http **ret_http, const struct http_options *options, const struct http_source *source,
             char **ret_error);
/* "http://127.0.0.1:7470" or "unix:/run/ripd.sock" of listener i; NULL past the last. The server's string. */
const char *http_address(const struct http *http, size_t i);
int http_start(struct http *http); /* its thread */
void http_stop(struct http *http); /* from any thread: finishes what is being sent, within a second, and joins */
void http_free(struct http *http);

/* From any thread. Takes a reference of its own. */
void http_publish(struct http *http, struct snapshot *snapshot);
/*
 * From any thread, also before http_start(): history that is older comes first. Takes a reference of its own. One whose
 * sequence is not above that of the one before is ignored.
 */
void http_publish_event(struct http *http, struct event *event);
/* Before http_start(). Which history the sequences are of; without it the server makes one up. */
void http_set_epoch(struct http *http, uint64_t epoch);
/*
 * From any thread: from now on these names, which access_host_valid(), and no others besides its own, are accepted in
 * Host. Copies them. -ENOMEM: the old ones stay.
 */
int http_allow_hosts(struct http *http, const char *const *names, size_t count);
/* From any thread. page may be NULL: it could not be had (503). Takes over the caller's reference. */
void http_complete(struct http *http, uint64_t ticket, struct page *page);

/* For tests; before http_start(). See net/limits.h. */
struct http_limits;
void http_set_limits(struct http *http, const struct http_limits *limits);

/* On the HTTP thread, or when it does not run. */
void http_health(const struct http *http, struct health_http *ret_health);

#endif
