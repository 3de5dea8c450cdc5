/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handlers.c - from a request to its answer: may it be asked, which route, which parameters, then the route's handler.
 *
 * Guarantees
 *   A. Nothing is answered, not even a 404, before access_decide() has allowed the request.
 *   B. No handler changes what is watched or what is found: they read the last snapshot, or ask the scanner to.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/answer_list.h"
#include "net/routes.h"
#include "os/clock.h"
#include "view/percent.h"
#include "view/query_parse.h"

#define READY_INTERVALS 3u /* a scan older than these is one that should have been followed */
#define JSON_TYPE "application/json"

static const char NO_MEMORY[] = "Out of memory.";
static const char RETRY_SOON[] = "Retry-After: 1\r\n";

/* What a list is a version of: its scan; of events, the newest. */
static uint64_t list_version(const struct http *http, enum document_kind kind)
{
    return kind == DOCUMENT_EVENTS ? http->events.newest_sequence : http->snapshot->sequence;
}

static const char *list_fields(enum document_kind kind)
{
    return kind == DOCUMENT_EVENTS ? ANSWER_EVENTS_FIELDS : NULL;
}

void answer_list(struct http *http, struct connection *connection, struct body *body)
{
    const char *extra_fields = list_fields(body->frame.kind);
    struct answer answer = {
        .status = 200, .content_type = JSON_TYPE, .extra_fields = extra_fields, .body = body, .tag = &body->tag};

    (void)http;
    if (body->frame.kind == DOCUMENT_THREAD && body->frame.returned == 0)
        connection_problem(connection, 404, "No live id of that number is in a ring of that name.", NULL, NULL);
    else if (connection->wishes.condition.any || condition_names(&connection->wishes.condition, &body->tag))
        connection_not_modified(connection, &body->tag, extra_fields);
    else if (document_head(&body->frame, clock_wall_ns(), clock_mono_ns(), &answer.text, &answer.text_bytes) < 0)
        connection_problem(connection, 500, NO_MEMORY, NULL, NULL);
    else
        connection_answer(connection, &answer);
}

/* False, and answered, before the first scan. */
static bool scanned(struct http *http, struct connection *connection)
{
    if (http->snapshot != NULL)
        return true;
    connection_problem(connection, 503, "The first scan is not complete yet.", NULL, RETRY_SOON);
    return false;
}

static struct body *build_rings(struct http *http, const struct query *query)
{
    struct document_frame frame;
    size_t length;
    char *text;

    if (document_rings_body(http->snapshot, query, &frame, &text, &length) < 0)
        return NULL;
    return body_new(&http->pages, &frame, text, length);
}

/* True, and answered, if the client has what the list of that key is now: then it need not be built. */
static bool unchanged(struct http *http, struct connection *connection, enum document_kind kind, const char *key)
{
    const struct etag tag = {.version = list_version(http, kind), .question = page_key_hash(key)};

    if (!condition_names(&connection->wishes.condition, &tag))
        return false;
    connection_not_modified(connection, &tag, list_fields(kind));
    return true;
}

/* True, and answered, if nothing needs to be built for it: it cannot be yet, or the client or the server has it. */
static bool answer_kept(struct http *http, struct connection *connection, enum document_kind kind, const char *key)
{
    struct body *body;

    if (!scanned(http, connection) || unchanged(http, connection, kind, key))
        return true;
    body = pages_find(&http->pages, key, http->snapshot->sequence);
    if (body == NULL)
        return false;
    answer_list(http, connection, body);
    return true;
}

/* Takes over the reference of body; NULL: it could not be built. */
static void answer_made(struct http *http, struct connection *connection, enum document_kind kind, const char *key,
                        struct body *body)
{
    if (body == NULL) {
        connection_problem(connection, 500, NO_MEMORY, NULL, NULL);
        return;
    }
    body->tag.version = list_version(http, kind);
    pages_keep(&http->pages, key, body);
    drop_stalled(http);
    answer_list(http, connection, body);
    body_unref(body);
}

void answer_built(struct http *http, struct connection *connection, enum document_kind kind, const struct query *query,
                  const char *key, struct body *(*build)(struct http *http, const struct query *query))
{
    if (!answer_kept(http, connection, kind, key))
        answer_made(http, connection, kind, key, build(http, query));
}

/* A list that only the scanner can make. */
static void answer_asked(struct http *http, struct connection *connection, const struct query *query,
                         enum document_kind kind)
{
    char key[PAGE_KEY_BYTES];

    page_key(kind, query, key);
    if (!answer_kept(http, connection, kind, key))
        asking_join(http, connection, kind, query);
}

void handle_stalls(struct http *http, struct connection *connection, const struct query *query)
{
    static const enum document_kind kinds[] = {
        [QUERY_GROUP_NONE] = DOCUMENT_STALLS,
        [QUERY_GROUP_LOCATION] = DOCUMENT_STALLS_BY_LOCATION,
        [QUERY_GROUP_ROOT] = DOCUMENT_STALLS_BY_ROOT,
    };
    enum document_kind kind = kinds[query->group];
    char key[PAGE_KEY_BYTES];

    struct page *page;

    page_key(kind, query, key);
    if (answer_kept(http, connection, kind, key))
        return;
    page = query_stalls(query, http->snapshot);
    if (page != NULL && page->count > HTTP_BUILD_ITEMS_AT_ONCE)
        asking_join_build(http, connection, kind, query);
    else
        answer_made(http, connection, kind, key,
                    page == NULL ? NULL : body_of_page(&http->pages, kind, query->trail_count, page));
    page_unref(page);
}

void handle_rings(struct http *http, struct connection *connection, const struct query *query)
{
    char key[PAGE_KEY_BYTES];

    page_key(DOCUMENT_RINGS, query, key);
    answer_built(http, connection, DOCUMENT_RINGS, query, key, build_rings);
}

void handle_threads(struct http *http, struct connection *connection, const struct query *query)
{
    answer_asked(http, connection, query,
                 query->group == QUERY_GROUP_LOCATION ? DOCUMENT_THREADS_BY_LOCATION : DOCUMENT_THREADS);
}

void handle_locations(struct http *http, struct connection *connection, const struct query *query)
{
    struct query grouped = *query;

    grouped.group = QUERY_GROUP_LOCATION;
    answer_asked(http, connection, &grouped, DOCUMENT_LOCATIONS);
}

void handle_thread(struct http *http, struct connection *connection, const struct query *query)
{
    answer_asked(http, connection, query, DOCUMENT_THREAD);
}

static void answer_text(struct connection *connection, int status, char *text, size_t length)
{
    struct answer answer = {.status = 200, .content_type = JSON_TYPE, .text = text, .text_bytes = length};

    if (status < 0)
        connection_problem(connection, 500, NO_MEMORY, NULL, NULL);
    else
        connection_answer(connection, &answer);
}

static void answer_health(struct connection *connection, const char *word)
{
    size_t length = 0;
    char *text = NULL;
    int status = document_health(word, &text, &length);

    answer_text(connection, status, text, length);
}

void handle_healthz(struct http *http, struct connection *connection, const struct query *query)
{
    (void)http;
    (void)query;
    answer_health(connection, "ok");
}

void handle_readyz(struct http *http, struct connection *connection, const struct query *query)
{
    uint64_t now_ns = clock_mono_ns();

    (void)query;
    if (!scanned(http, connection))
        return;
    if (now_ns > http->snapshot->scanned_mono_ns &&
        now_ns - http->snapshot->scanned_mono_ns > READY_INTERVALS * http->snapshot->interval_ns)
        connection_problem(connection, 503, "The last scan is older than three intervals.", NULL, RETRY_SOON);
    else
        answer_health(connection, "ready");
}

void handle_version(struct http *http, struct connection *connection, const struct query *query)
{
    size_t length = 0;
    char *text = NULL;
    int status = document_version(&text, &length);

    (void)http;
    (void)query;
    answer_text(connection, status, text, length);
}

/* RING and ID of a path. -EINVAL: they cannot name anything. */
static int take_arguments(const struct span *arguments, size_t count, struct query *query)
{
    uint64_t id = 0;

    if (count == 0)
        return 0;
    if (percent_decode(arguments[0].bytes, arguments[0].length, false, query->ring, sizeof(query->ring)) < 0)
        return -EINVAL;
    for (size_t i = 0; i < arguments[1].length; i++) {
        char digit = arguments[1].bytes[i];

        if (digit < '0' || digit > '9' || id > UINT32_MAX)
            return -EINVAL;
        id = id * 10 + (uint64_t)(digit - '0');
    }
    if (id > UINT32_MAX)
        return -EINVAL;
    query->one = true;
    query->id = (uint32_t)id;
    query->limit = QUERY_LIMIT_MAX;
    return 0;
}

static void answer_no_route(struct connection *connection)
{
    char detail[256];
    int length = snprintf(detail, sizeof(detail), "There is nothing at this path. There is: ");

    routes_list(detail + length, sizeof(detail) - (size_t)length);
    connection_problem(connection, 404, detail, NULL, NULL);
}

static void follow_route(struct http *http, struct connection *connection, const struct http_request *request)
{
    struct span arguments[ROUTE_ARGUMENTS_MAX];
    char text[REQUEST_HEAD_BYTES_MAX];
    struct query_error error;
    const struct route *route;
    struct query query;
    size_t argument_count;

    route = route_find(request->path, arguments, &argument_count);
    if (route == NULL) {
        answer_no_route(connection);
        return;
    }
    memcpy(text, request->query.bytes, request->query.length);
    text[request->query.length] = '\0';
    if (query_parse(text, route->parameters, &query, &error) < 0) {
        char detail[sizeof(error.parameter) + sizeof(error.detail)];

        snprintf(detail, sizeof(detail), "%s %s", error.parameter, error.detail);
        connection_problem(connection, 400, detail, error.parameter, NULL);
    } else if (take_arguments(arguments, argument_count, &query) < 0) {
        connection_problem(connection, 404, "The path does not name a ring and a number from 0 to 4294967295.", NULL,
                           NULL);
    } else {
        if (!query.has_trail)
            query.trail_count = route->trail_count;
        route->handle(http, connection, &query);
    }
}

void server_request(struct http *http, struct connection *connection, const struct http_request *request)
{
    struct access_verdict verdict = access_decide(&connection->door->rules, request);

    http->counters.request_count++;
    connection->keep_alive &= verdict.status != 400; /* others may have read it otherwise: nothing goes on behind it */
    if (verdict.status != 0)
        connection_problem(connection, verdict.status, verdict.detail, NULL, NULL);
    else if (request->method == REQUEST_OTHER)
        connection_problem(connection, 405, "Only GET and HEAD are answered.", NULL, "Allow: GET, HEAD\r\n");
    else if (request->body_bytes > REQUEST_BODY_BYTES_MAX)
        connection_problem(connection, 413, "The request's body is longer than 65536 bytes.", NULL, NULL);
    else
        follow_route(http, connection, request);
}
